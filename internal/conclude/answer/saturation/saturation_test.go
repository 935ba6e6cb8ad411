package saturation

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// p99 is the figure that the tests limit.
var p99 = figures.Quantity{Metric: result.ResponseTime, Stat: result.P99, Unit: result.Seconds}

// sweepOf is an experiment of two arms with a sweep of these rates, and a load of another kind.
func sweepOf(rates ...float64) *experiment.Experiment {
	e := &experiment.Experiment{
		Baseline: "near", Arms: []experiment.Arm{{Name: "far"}, {Name: "near"}},
		Workloads: []experiment.Workload{{Name: "other", Tool: "http", Mode: experiment.HTTP, OfferedRate: 10, Web: experiment.Web{
			TLS: true}}},
		Schedule: experiment.Schedule{Blocks: 12, Seed: 1},
	}
	for i := range rates { // the file need not have them in order
		rate := rates[len(rates)-1-i]
		e.Workloads = append(e.Workloads, experiment.Workload{Name: "at" + experiment.FormatPerSecond(rate), Tool: "http",
			Mode: experiment.HTTP, OfferedRate: rate})
	}
	return e
}

// queue makes the trials of queues with one server each: response times are exponential with the mean 1/(C - rate)
// (M/M/1), and beyond the capacity C as much is answered as C.
func queue(e *experiment.Experiment, capacity map[string]float64) []result.Trial {
	r := rand.New(rand.NewPCG(26, 5))
	var trials []result.Trial
	for i, slot := range e.Slots() {
		w, _ := e.Workload(slot.Workload)
		c := capacity[slot.Arm] * (1 + 0.01*r.NormFloat64())
		t := result.Trial{Trial: i + 1, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload}
		add := func(name, stat, unit string, v float64) {
			t.Metrics = append(t.Metrics, result.Metric{Name: name, Stat: stat, Unit: unit, Value: v})
		}
		add(result.TransactionRate, "", result.PerSecond, math.Min(w.OfferedRate, c))
		if c > w.OfferedRate {
			add(result.ResponseTime, result.P50, result.Seconds, math.Ln2/(c-w.OfferedRate))
			add(result.ResponseTime, result.P99, result.Seconds, math.Log(100)/(c-w.OfferedRate))
		}
		trials = append(trials, t)
	}
	return trials
}

func holds(i figures.Interval, v float64) bool { return i != nil && i[0] <= v && v <= i[1] }

// TestModesOfSweeps: whatever offers a rate makes a sweep, and nothing else.
func TestModesOfSweeps(t *testing.T) {
	for mode, want := range map[string]int{
		experiment.HTTP: 1, experiment.App: 1, experiment.Load: 1, experiment.RR: 0, experiment.Stream: 0,
	} {
		e := sweepOf(100, 200, 400, 800, 1600)
		for i := range e.Workloads {
			e.Workloads[i].Mode = mode
		}
		if all := Of(e, queue(e, map[string]float64{"near": 1000, "far": 800}), nil, false); len(all) != want {
			t.Errorf("%s: %d sweeps, want %d", mode, len(all), want)
		}
	}
}

func TestSaturationOfQueues(t *testing.T) {
	e := sweepOf(100, 200, 400, 500, 600, 700, 800, 900, 1600)
	limit := Limit{Quantity: p99, Bound: 20e-3, Workload: "at200/s"}
	all := Of(e, queue(e, map[string]float64{"near": 1000, "far": 800}), []Limit{limit, limit}, false)
	if len(all) != 1 || len(all[0].Workloads) != 9 || all[0].Rates[0] != 100 || len(all[0].Arms) != 2 {
		t.Fatalf("%+v", all)
	}
	near, far := all[0].Arms[0], all[0].Arms[1]
	if near.Arm != "near" || near.Blocks != 12 || near.Change != nil || !holds(near.Knee.Interval, 1000) ||
		math.Abs(*near.Knee.Value-1000) > 20 {
		t.Errorf("%+v", near)
	}
	if !holds(far.Knee.Interval, 800) || far.Change == nil || !holds(far.Change.Interval, -0.2) {
		t.Errorf("%+v, %+v", far, far.Change)
	}
	// Between two rates the line of logarithms lies a little above the curve.
	for _, at := range near.At {
		of := map[string]float64{result.P50: math.Ln2, result.P99: math.Log(100)}[at.Stat]
		truth := of / (1000 - at.Rate)
		if at.Fraction != 0.9 && (at.Value < 0.95*truth || at.Value > 1.1*truth) {
			t.Errorf("at %v of the knee: %+v, want %v", at.Fraction, at, truth)
		}
	}
	if len(near.At) != 6 {
		t.Errorf("%+v", near.At)
	}
	// log(100) / (1000 - rate) is 20 ms at 769.7/s.
	if len(near.Keeps) != 1 || near.Keeps[0].Rate.Value == nil || math.Abs(*near.Keeps[0].Rate.Value-769.7) > 15 ||
		!holds(near.Keeps[0].Rate.Interval, *near.Keeps[0].Rate.Value) {
		t.Errorf("%+v", near.Keeps)
	}
}

func TestBeyondTheSweep(t *testing.T) {
	e := sweepOf(100, 200, 400)
	trials := queue(e, map[string]float64{"near": 10_000, "far": 150})
	all := Of(e, trials, []Limit{{Quantity: p99, Bound: 1e-3, Workload: "at100/s"},
		{Quantity: p99, Bound: 1, Workload: "at400/s"}}, false)
	near, far := all[0].Arms[0], all[0].Arms[1]
	if near.Knee.Value != nil || near.Knee.Beyond != Above || len(near.At) != 0 || far.Change != nil {
		t.Errorf("%+v", near)
	}
	if k := near.Keeps; k[0].Rate.Value != nil && *k[0].Rate.Value < 100 || k[1].Rate.Beyond != Above {
		t.Errorf("%+v", k)
	}
	if !holds(far.Knee.Interval, 150) || far.Keeps[0].Rate.Beyond != Below {
		t.Errorf("%+v", far)
	}
	// At 200/s the far arm's trials have no response time: they were too slow for one.
	if v := far.Keeps[1].Rate.Value; v == nil || *v != 100 {
		t.Errorf("%+v", far.Keeps[1])
	}
}

// TestRequestUnderWay: the last request of a short trial, which is answered after its end, does not make a rate one
// that is not answered.
func TestRequestUnderWay(t *testing.T) {
	e := sweepOf(20, 60, 120, 400)
	for i := range e.Workloads {
		e.Workloads[i].Duration = 500 * time.Millisecond
	}
	for missing, want := range map[float64]float64{0: 187, 1: 187, 2: 116} {
		trials := queue(e, map[string]float64{"near": 187, "far": 187})
		for i := range trials {
			switch t := &trials[i]; t.Workload {
			case "at400/s":
				t.Metrics[0].Value = 187
			case "at120/s":
				t.Metrics[0].Value = 120 - 2*missing // 60 requests in half a second
			}
		}
		if knee := Of(e, trials, nil, false)[0].Arms[0].Knee; knee.Value == nil || *knee.Value != want {
			t.Errorf("%v of 60 requests are missing: the knee is %+v, want %v", missing, knee, want)
		}
	}
}

// TestTooFewRequestsForAFigure: a low rate that was answered, but with too few requests for the percentile, neither
// keeps an objective nor fails it.
func TestTooFewRequestsForAFigure(t *testing.T) {
	limit := Limit{Quantity: p99, Bound: 20e-3, Workload: "at100/s"}
	keepsOf := func(lack func(result.Trial, float64) bool) Rate {
		e := sweepOf(100, 200, 400, 500, 600, 700, 800, 900, 1600)
		trials := queue(e, map[string]float64{"near": 1000, "far": 800})
		for i := range trials {
			if w, _ := e.Workload(trials[i].Workload); lack(trials[i], w.OfferedRate) {
				trials[i].Metrics = trials[i].Metrics[:1]
			}
		}
		keeps := Of(e, trials, []Limit{limit}, false)[0].Arms[0].Keeps
		if len(keeps) != 1 || keeps[0].Bound != limit.Bound {
			t.Fatalf("%+v", keeps)
		}
		return keeps[0].Rate
	}
	// log(100) / (1000 - rate) is 20 ms at 769.7/s.
	for name, lack := range map[string]func(result.Trial, float64) bool{
		"none lacks it":   func(result.Trial, float64) bool { return false },
		"two low rates":   func(_ result.Trial, rate float64) bool { return rate <= 200 },
		"one in between":  func(_ result.Trial, rate float64) bool { return rate == 500 },
		"in a few blocks": func(t result.Trial, rate float64) bool { return rate < 900 && t.Block <= 5 },
	} {
		if r := keepsOf(lack); r.Value == nil || *r.Value < 740 || *r.Value > 790 {
			t.Errorf("%s: the objective is kept up to %+v", name, r)
		}
	}
	// Where the rates around the crossing lack it, the line is longer, and lies above the curve.
	if r := keepsOf(func(_ result.Trial, rate float64) bool { return rate == 700 }); r.Value == nil || *r.Value < 700 ||
		*r.Value > 790 {
		t.Errorf("a line from 600/s to 800/s: %+v", r)
	}
	for name, lack := range map[string]func(result.Trial, float64) bool{
		"all that are answered": func(_ result.Trial, rate float64) bool { return rate < 1000 },
		"all that keep it":      func(_ result.Trial, rate float64) bool { return rate < 800 },
		"in most blocks":        func(t result.Trial, rate float64) bool { return rate < 800 && t.Block <= 6 },
	} {
		if r := keepsOf(lack); r.Value != nil || r.Beyond != "" || r.Interval != nil {
			t.Errorf("%s lack the figure: the objective is kept up to %+v", name, r)
		}
	}
}

func TestNoSweep(t *testing.T) {
	for name, change := range map[string]func(*experiment.Experiment){
		"two rates":            func(e *experiment.Experiment) { e.Workloads = e.Workloads[:3] },
		"one rate three times": func(e *experiment.Experiment) { e.Workloads[2].OfferedRate, e.Workloads[3].OfferedRate = 400, 400 },
		"deployments":          func(e *experiment.Experiment) { e.Schedule.Deployments = 3 },
		"imported":             func(e *experiment.Experiment) { e.Imported = true },
		"an arm sets the rate": func(e *experiment.Experiment) {
			for _, w := range e.Workloads {
				e.Arms[0].Set = append(e.Arms[0].Set, experiment.Setting{Key: "rate", Value: "5/s", Workloads: []string{w.Name}})
			}
		},
	} {
		e := sweepOf(100, 200, 400)
		change(e)
		if all := Of(e, queue(e, map[string]float64{"near": 300, "far": 300}), nil, false); all != nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
	// A block that lacks a rate is left out.
	e := sweepOf(100, 200, 400)
	trials := queue(e, map[string]float64{"near": 300, "far": 300})
	for i := range trials {
		if trials[i].Block == 3 && trials[i].Workload == "at400/s" {
			trials[i].Error = "lost"
		}
	}
	if all := Of(e, trials, nil, true); all[0].Arms[0].Blocks != 11 {
		t.Errorf("%+v", all[0].Arms)
	}
}
