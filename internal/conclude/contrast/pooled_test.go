package contrast

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// figuresOf are an arm's figures of p50, p99 and mean.
func figuresOf(arm string) answer.Answer {
	var a answer.Answer
	for _, stat := range []string{result.P50, result.P99, result.Mean} {
		a.Arms = append(a.Arms, figures.Figure{Arm: arm, Workload: "rr",
			Quantity: figures.Quantity{Metric: result.RTT, Stat: stat, Unit: result.Seconds}})
	}
	return a
}

// TestPool: the pooled p99 is computed from all observations, including a trial that stalls.
func TestPool(t *testing.T) {
	side := model{side: "A", arms: []string{"x"}, blocks: 10, noise: 1e-7}.make()
	files := map[string][]byte{}
	for i := range side.Trials {
		name := string(rune('a' + i))
		var values []int64
		for k := range 300 {
			values = append(values, int64(10_000+k))
		}
		if i == 0 {
			for range 60 {
				values = append(values, 200_000_000)
			}
		}
		side.Trials[i].Histogram, files[name] = name, encoded(t, 1, 100_000_000_000, 3, values...)
	}
	open := func(name string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files[name])), nil }
	a := figuresOf("x")
	Pool(&a, side.Trials, open)
	if len(a.Warnings) != 0 || a.Arms[0].Pooled == nil || a.Arms[1].Pooled == nil || a.Arms[2].Pooled != nil {
		t.Fatalf("%+v, %+v", a.Arms, a.Warnings)
	}
	if p50, p99 := *a.Arms[0].Pooled, *a.Arms[1].Pooled; math.Abs(p50-10.15e-6) > 5e-8 || math.Abs(p99-0.2) > 1e-3 {
		t.Errorf("pooled p50 %v and p99 %v", p50, p99)
	}

	files["c"] = []byte("nothing")
	a = figuresOf("x")
	Pool(&a, side.Trials, open)
	if a.Arms[1].Pooled != nil || len(a.Warnings) != 1 || a.Warnings[0].Code != "histogram-unread" ||
		!strings.Contains(a.Warnings[0].Message, "trial 3") {
		t.Errorf("%+v, %+v", a.Arms, a.Warnings)
	}
	side.Trials[4].Histogram = ""
	a = figuresOf("x")
	Pool(&a, side.Trials, open)
	if a.Arms[1].Pooled != nil || len(a.Warnings) != 0 {
		t.Errorf("a trial without a histogram: %+v, %+v", a.Arms, a.Warnings)
	}
}

// TestPoolOfOwnFigures: the histogram of a program of an experiment's own is of its first time with statistics, and of
// no other figure.
func TestPoolOfOwnFigures(t *testing.T) {
	file := encoded(t, 1, 100_000_000_000, 3, slices.Repeat([]int64{5_000_000}, 1000)...)
	open := func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil }
	own := func(name, stat, unit string) result.Metric {
		return result.Metric{Name: name, Stat: stat, Unit: unit, BetterIf: result.BetterIfOf(result.BetterLower)}
	}
	trial := result.Trial{Arm: "x", Workload: "own", Definition: "as printed by bench", Histogram: "h",
		Metrics: []result.Metric{own("total", "", result.Seconds), own("size", result.Mean, result.Bytes),
			own("wait", result.Mean, result.Seconds), own("lag", result.Mean, result.Seconds)}}
	var a answer.Answer
	for _, name := range []string{"size", "wait", "lag", result.RTT} {
		a.Arms = append(a.Arms, figures.Figure{Arm: "x", Workload: "own",
			Quantity: figures.Quantity{Metric: name, Stat: result.P50, Unit: result.Seconds}})
	}
	Pool(&a, []result.Trial{trial, trial}, open)
	for _, f := range a.Arms {
		if pooled := f.Pooled != nil; pooled != (f.Metric == "wait") || pooled && math.Abs(*f.Pooled-5e-3) > 1e-5 {
			t.Errorf("%s: pooled %v", f.Metric, f.Pooled)
		}
	}
}

// BenchmarkPool reads the histograms of 10,000 trials.
func BenchmarkPool(b *testing.B) {
	var values []int64
	for k := range 20_000 {
		values = append(values, int64(10_000+k*k%7919*3))
	}
	file := encoded(b, 1, 100_000_000_000, 3, values...)
	trials := make([]result.Trial, 10_000)
	for i := range trials {
		trials[i] = result.Trial{Trial: i + 1, Arm: "x", Workload: "rr",
			Definition: result.DefinitionRTT, Histogram: "h"}
	}
	for b.Loop() {
		a := figuresOf("x")
		Pool(&a, trials, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file)), nil })
	}
}
