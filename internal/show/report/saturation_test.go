package report

import (
	"math"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/saturation"
	"nearfar/internal/declare/result"
)

func TestSaturationSection(t *testing.T) {
	p99 := figures.Quantity{Metric: result.ResponseTime, Stat: result.P99, Unit: result.Seconds}
	rate := func(v, low, high float64) saturation.Rate {
		return saturation.Rate{Value: &v, Interval: &figures.Bounds{low, high}}
	}
	a := answer.Answer{Nearfar: "v1", Ran: answer.Ran{Baseline: "near", State: "complete"},
		Saturation: []saturation.Saturation{{Workloads: []string{"at-1k", "at-2k", "at-8k"}, Rates: []float64{1000, 2000, 8000},
			Arms: []saturation.Arm{
				{Arm: "near", Blocks: 12, Knee: saturation.Rate{Beyond: saturation.Above,
					Interval: &figures.Bounds{7800, math.Inf(1)}},
					Keeps: []saturation.Keeps{{Quantity: p99, Bound: 20e-3, Rate: rate(6000, 5900, 6100)}}},
				{Arm: "far\x1b[31m", Blocks: 12, Knee: rate(4000, 3900, 4100),
					Change: &saturation.Estimate{Value: -.5, Interval: &figures.Bounds{-.52, -.48}},
					At: []saturation.At{
						{Fraction: .5, Rate: 2000, Stat: result.P50, Estimate: saturation.Estimate{Value: 1e-3}},
						{Fraction: .5, Rate: 2000, Stat: result.P99, Estimate: saturation.Estimate{Value: 4e-3,
							Interval: &figures.Bounds{3e-3, 5e-3}}},
					}, Keeps: []saturation.Keeps{{Quantity: p99, Bound: 20e-3, Rate: saturation.Rate{Beyond: saturation.Below}}}},
			}}}}
	for format, want := range map[string][]string{
		"markdown": {"## Saturation: what the arms carry", "at-1k to at-8k, requests in /s",
			"| arm | saturates at | 95 % interval | change | 95 % interval | response_time p99 < 20.00 ms up to | 95 % interval |",
			"| near | above 8000 | [7800, unbounded] | - |  | 6000 | [5900, 6100] |",
			"| 4000 | [3900, 4100] | -50.0 % | [-52.0 %, -48.0 %] | below 1000 |  |",
			"| 50 % | 2000 | 1.00 | none | 4.00 | [3.00, 5.00] |"},
		"terminal": {"Saturation: what the arms carry", "4000      [3900, 4100]", "docs/saturation.md"},
		"csv": {"saturation,at-1k,near,,,transaction_rate,,1/s,,7800,,", "keeps-objective,at-1k,near,,,response_time,p99,1/s,6000,5900,6100",
			",above,above", ",below,"},
	} {
		text := written(t, a, Options{Format: format, Width: 120})
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
}
