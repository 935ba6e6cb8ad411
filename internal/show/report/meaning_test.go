package report

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/meaning"
	"nearfar/internal/declare/result"
)

func estimate(value, low, high float64) meaning.Estimate {
	return meaning.Estimate{Value: value, Interval: &figures.Bounds{low, high}}
}

// ofPages is an answer about pages, with names that a terminal would act on.
func ofPages() answer.Answer {
	slope, intercept := estimate(40.2, 39.6, 40.9), estimate(1e-3, .9e-3, 1.1e-3)
	worth, remains := estimate(40.1, 38.2, 41.9), estimate(2e-6, -5e-6, 9e-6)
	trips := 40
	return answer.Answer{
		Nearfar: "v1", Ran: answer.Ran{Baseline: "near", State: "complete", Blocks: 12},
		Meaning: []meaning.Meaning{
			{Workload: "page", Quantity: figures.Quantity{Metric: result.ResponseTime, Stat: result.P50, Unit: result.Seconds},
				RoundTrip: "rr", RoundTripStat: result.P50, Slope: &slope, Trips: &trips, Between: &figures.Bounds{38.8, 41.7}, Intercept: &intercept, Blocks: 12,
				Counted: 12, Text: "40 round trips explain it.",
				Arms: []meaning.Arm{
					{Arm: "far\x1b[31m", Application: estimate(.31e-3, .29e-3, .33e-3), RoundTrip: estimate(7.8e-6, 7.7e-6, 7.9e-6),
						Differs: true, ApplicationDiffers: true, Worth: &worth, Remains: &remains},
					{Arm: "same", Application: estimate(1e-6, -8e-6, 9e-6), RoundTrip: estimate(.1e-6, -.2e-6, .3e-6)},
				}, Left: []meaning.Left{{Arm: "new", Reason: "it sets connect of page"}}},
			{Workload: "bench", RoundTrip: "rr", Reason: "so", Text: "Nothing is said of bench: so."},
		},
	}
}

func TestMeaningSection(t *testing.T) {
	for format, want := range map[string][]string{
		"terminal": {"What a difference means for an application", "page, response_time p50, against rr, rtt p50: differences " +
			"from near", "40.10 [38.20, 41.90]", "page: 40 round trips explain it.", "page: new is left out: it sets connect",
			"bench: Nothing is said of bench: so.", "docs/meaning.md"},
		"markdown": {"## What a difference means for an application",
			"| arm | page in us | 95 % interval | rr in us | 95 % interval | times | 95 % interval | remains |",
			"| +310.0 | [+290.0, +330.0] | +7.80 | [+7.70, +7.90] | 40.10 | [38.20, 41.90] | +2.00 | [-5.00, +9.00] |",
			"| same | +1.00 | [-8.00, +9.00] | +0.100 | [-0.200, +0.300] | - |  | - |  |"},
		"csv": {"round-trips,page,,near,,response_time,p50,1,40.2,39.6,40.9", "without-round-trips,page,,near,,response_time,p50,s,0.001,",
			"whole-round-trips,page,,near,,response_time,p50,1,40,38.8,41.7"},
	} {
		text := written(t, ofPages(), Options{Format: format, Width: 100})
		checkHarmless(t, format, text)
		if format == "markdown" {
			text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, ""), "&lt;", "<")
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q:\n%s", format, part, text)
			}
		}
	}
	if text := written(t, sample(), Options{}); strings.Contains(text, "for an application") {
		t.Error("a run without an application has the section")
	}
}
