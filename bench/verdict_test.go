package main

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"nearfar/internal/declare/result"
)

// made gives the records of two workloads from their figures by block. 0 stands for a failed trial.
func made(ours, theirs []float64) trials {
	t := trials{"ours": {}, "theirs": {}}
	for name, values := range map[string][]float64{"ours": ours, "theirs": theirs} {
		for i, v := range values {
			p50 := result.Metric{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: v}
			trial := result.Trial{Block: i + 1, Workload: name, Metrics: []result.Metric{p50}}
			if v == 0 {
				trial.Error, trial.Metrics = "failed", nil
			}
			t[name][i+1] = trial
		}
	}
	return t
}

func rttRow(b *bound) row {
	return row{Work: "TCP rr", Against: "other", Ours: "ours", Theirs: "theirs",
		Metric: result.RTT, Stat: result.P50, Unit: result.Seconds, Bound: b}
}

func TestVerdict(t *testing.T) {
	one := []float64{1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		name            string
		row             row
		ours, theirs    []float64
		verdict, within string
		ratio           string
	}{
		{"below", rttRow(atMost(1)), []float64{.9, .8, .7, .9, .8, .9}, one, reached, "wholly within",
			"0.850 [0.700, 0.900]"},
		{"equal", rttRow(atMost(1)), one, one, reached, "wholly within", "1.000 [1.000, 1.000]"},
		{"above", rttRow(atMost(1)), []float64{1.1, 1.2, 1.3, 1.1, 1.2, 1.1}, one, short, "wholly outside",
			"1.150 [1.100, 1.300]"},
		{"around, median kept", rttRow(atMost(1)), []float64{.9, .9, .9, .9, 1.2, 1.1}, one, reached, "on both sides",
			"0.900 [0.900, 1.200]"},
		{"around, median not kept", rttRow(atMost(1)), []float64{.9, .9, 1.2, 1.1, 1.2, 1.1}, one, short,
			"on both sides", "1.100 [0.900, 1.200]"},
		{"a rate", rttRow(atLeast(1.5)), []float64{2, 2, 2, 2, 2, 2}, one, reached, "wholly within",
			"2.000 [2.000, 2.000]"},
		{"a rate too low", rttRow(atLeast(1.5)), []float64{1, 1, 1, 1, 1, 1}, one, short, "wholly outside",
			"1.000 [1.000, 1.000]"},
		{"too few blocks", rttRow(atMost(1)), []float64{.5, .5, .5, .5, .5}, one, cannotTell, "", "0.500"},
		{"a failed trial leaves too few", rttRow(atMost(1)), []float64{.5, .5, .5, 0, .5, .5}, one, cannotTell, "",
			"0.500"},
		{"nothing on one side", rttRow(atMost(1)), one, []float64{0, 0}, "not measured: no block has both figures",
			"", ""},
		{"no bound", rttRow(nil), one, one, noBound, "", "1.000 [1.000, 1.000]"},
	} {
		o := judge(c.row, made(c.ours, c.theirs))
		if o.verdict() != c.verdict || o.within() != c.within || o.ratio() != c.ratio {
			t.Errorf("%s: %q, %q, %q; want %q, %q, %q", c.name, o.verdict(), o.within(), o.ratio(),
				c.verdict, c.within, c.ratio)
		}
	}
}

func TestMissingIsNotMeasured(t *testing.T) {
	r := rttRow(atLeast(1.5))
	r.Ours, r.Missing = "", "no such mode yet"
	o := judge(r, made(nil, []float64{1, 2, 3}))
	if o.verdict() != "not measured: no such mode yet" || o.ratio() != "" || o.Ours.Known || !o.Theirs.Known ||
		o.Theirs.Value != 2 {
		t.Errorf("%+v, %q", o, o.verdict())
	}
}

// Ratios are taken within blocks: a drift from block to block that both sides share does not change them.
func TestRatioIsPaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratio := rapid.Float64Range(0.5, 2).Draw(t, "ratio")
		theirs := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e-3), 6, 30).Draw(t, "theirs")
		ours := make([]float64, len(theirs))
		for i, v := range theirs {
			ours[i] = v * ratio
		}
		o := judge(rttRow(atMost(1)), made(ours, theirs))
		got := o.Ratio
		width := got.Interval.High - got.Interval.Low
		if o.Blocks != len(theirs) || math.Abs(got.Median.Value/ratio-1) > 1e-9 || width > 1e-9 {
			t.Fatalf("%d blocks, median %v, interval %+v; want exactly %v", o.Blocks, got.Median, got.Interval, ratio)
		}
	})
}
