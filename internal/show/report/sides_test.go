package report

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// twoSides has rows of every kind that a comparison of two sides can have, and text that a terminal, a spreadsheet or a
// browser would act on.
func twoSides() answer.Answer {
	rtt := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	hostile := "=far\x1b[31m<script>\r\n"
	return withFindings(answer.Answer{
		Nearfar: "v1",
		Ran:     answer.Ran{Baseline: "A", Trials: 41, Failed: 1},
		Compared: answer.Compared{Sources: []answer.Source{
			{Side: "A", Source: "runs/base", Kind: "run", Name: "overlay", State: "complete",
				Started: time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC),
				Arms:    []string{"vxlan", "l2"}, Blocks: 10, Trials: 40, Failed: 1},
			{Side: "B", Source: hostile, Kind: "file", Arms: []string{hostile}, Trials: 1},
		}, Distributions: []figures.Distribution{{
			Arm: "vxlan", Baseline: "vxlan", Workload: "rr", Metric: result.RTT, Unit: result.Seconds,
			Trials: [2]int{12, 10}, Observations: [2]int64{12000, 10000},
			Quantiles: []figures.QuantileComparison{
				{Stat: result.P50, Medians: &[2]float64{11e-6, 10e-6}, Difference: new(1e-6),
					Interval: &figures.Bounds{.8e-6, 1.2e-6}, Relative: new(.1),
					Pooled: &[2]float64{11.1e-6, 10.1e-6}},
				{Stat: result.P99, Pooled: &[2]float64{15e-6, 14e-6}},
			},
			Distance: &figures.Distance{Share: -.45, At: 10.4e-6},
		}}},
		Figures: figures.Figures{Arms: []figures.Figure{
			{Side: "A", Arm: "vxlan", Workload: "rr", Quantity: rtt, Median: 10e-6,
				Interval: &figures.Bounds{9.9e-6, 10.1e-6}, Trials: 10},
			{Side: "B", Arm: hostile, Workload: "rr", Quantity: rtt, Median: 11e-6, Trials: 10},
		}, Comparisons: []figures.Comparison{
			{Arm: "vxlan", Baseline: "vxlan", Workload: "rr", Quantity: rtt, Difference: new(1e-6),
				Interval: &figures.Bounds{0.8e-6, 1.2e-6}, Confidence: .95,
				Relative: new(.1), RelativeInterval: &figures.Bounds{.08, .12}, PValue: new(.001),
				Verdict: figures.Higher, Better: "baseline",
				Detectable: new(.3e-6), Trials: &[2]int{12, 10}, BlocksNeeded: new(0)},
			{Arm: "l2", Baseline: "l2", Workload: "rr", Quantity: rtt, Difference: new(.1e-6),
				Interval: &figures.Bounds{-.2e-6, .3e-6}, Confidence: .95,
				Relative: new(.01), PValue: new(.5), Verdict: figures.NoDifference, Detectable: new(.3e-6),
				Trials: &[2]int{12, 10}, BlocksNeeded: new(50)},
			{Arm: hostile, Baseline: "l2", Workload: "rr", Quantity: rtt, Difference: new(2e-6), Confidence: .95,
				Relative: new(.2),
				Verdict:  figures.SingleTrial, Trials: &[2]int{1, 1}, BlocksNeeded: new(5),
				Reason: "one trial a side: no interval can be given"},
			{Arm: "udp", Baseline: "l2", Workload: "rr", Quantity: rtt, Confidence: .95, Verdict: figures.NotComparable,
				Reason: "protocol: icmp against tcp\x07"},
		}, Layers: []figures.Layer{}, Residual: []figures.Residual{}},
		Warnings: []answer.Warning{{Code: "two-runs", Message: "the two ran at different times"}},
	})
}

func TestGoldenOfSides(t *testing.T) {
	for _, format := range Formats() {
		text := written(t, twoSides(), Options{Format: format})
		golden(t, "sides."+format, text)
		checkHarmless(t, format, text)
	}
}

// The note below the differences of two sides explains the columns for each unit of comparison.
func TestNotesOfSidesSayDetectable(t *testing.T) {
	for name, change := range map[string]func(*figures.Comparison){
		"blocks":         func(c *figures.Comparison) { c.Blocks = 10 },
		"trials":         func(*figures.Comparison) {},
		"runs":           func(c *figures.Comparison) { c.Runs = &[2]int{3, 3} },
		"one run a side": func(c *figures.Comparison) { c.Runs, c.ScatterRuns = &[2]int{1, 1}, 8 },
	} {
		a := twoSides()
		change(&a.Comparisons[0])
		if note := sidesNote(a); !strings.Contains(note, `"Detectable" is`) || !strings.Contains(note, "(Holm)") {
			t.Errorf("%s: the note is %q", name, note)
		}
	}
}
