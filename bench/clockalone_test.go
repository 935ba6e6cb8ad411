package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/host"
)

// Every due time of the window is counted, and none of the warm-up. Parse reads the printed figures.
func TestClockVerb(t *testing.T) {
	var stdout, stderr bytes.Buffer
	began := time.Now()
	if code := start([]string{clockVerb, "30000", "20ms", "50ms"}, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d, %s", code, &stderr)
	}
	took := time.Since(began)
	if !strings.HasPrefix(stdout.String(), "clock-alone: due=1500 window_ns=50000000 ") {
		t.Errorf("30,000 due times/s for 50 ms gave %s", &stdout)
	}
	// The last due time is one interval before the end.
	if least := 70*time.Millisecond - time.Second/30000; took < least {
		t.Errorf("it took %v, want at least %v", took, least)
	}
	m, err := clockAlone{}.Parse(tool.Output{Stdout: stdout.Bytes()})
	if err != nil || m.Duration != 50*time.Millisecond || m.Mode != experiment.Load {
		t.Fatalf("%+v, %v", m, err)
	}
	trial := result.Trial{Metrics: m.Metrics}
	rate, _ := trial.Value(result.OfferedRate, "")
	p50, half := trial.Value(result.SendLateness, result.P50)
	p99, most := trial.Value(result.SendLateness, result.P99)
	if rate != 30000 || !half || !most || p99 < p50 || p99 > took.Seconds() {
		t.Errorf("rate %v, p50 %v, p99 %v in %v: %s", rate, p50, p99, took, &stdout)
	}
	if v, ok := trial.Value(result.SendLateness, result.P999); ok {
		t.Errorf("1500 due times have a p99.9 of %v", v)
	}
}

func TestClockVerbRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"": "RATE WARMUP DURATION", "10000 0s": "RATE WARMUP DURATION", "fast 0s 50ms": "invalid syntax",
		"0 0s 50ms": "a rate of 0", "NaN 0s 50ms": "a rate of NaN", "10000 soon 50ms": "invalid duration",
		"10000 -1s 50ms": "a step of -1s", "10000 1s 0s": "a step of 0s",
	} {
		var stdout, stderr bytes.Buffer
		code := start(append([]string{clockVerb}, strings.Fields(args)...), nil, &stdout, &stderr)
		if code != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: exit %d, %q, %q; want %q", args, code, &stdout, &stderr, want)
		}
	}
}

// Every due time that passes while the thread is held up counts with its own lateness. Those of the warm-up do not
// count.
func TestLatenessOfAHeldUpThread(t *testing.T) {
	schedule := timing.Schedule{Arrivals: timing.ConstantArrivals,
		Steps: []timing.Step{{Rate: 10_000, Length: time.Millisecond}}}
	// The schedule starts at the first reading. The thread is held up from 250 to 650 us.
	readings := []int64{7_000, 7_000, 107_000, 257_000, 657_000, 707_040, 806_999, 807_000, 907_500, 2_007_000}
	clock := func() int64 {
		now := readings[0]
		readings = readings[1:]
		return now
	}
	pacer, late := schedule.Pacer(), observe.NewHistogram()
	recordLateness(clock, &pacer, 200_000, late)
	// In the order of the due times, from 200 us on: 50 350 250 150 50 0.040 0 0.500 us.
	for rank, want := range []int64{0, 40, 500, 50_000, 50_000, 150_000, 250_000, 350_000} {
		// A histogram has three significant digits.
		if got := late.Percentile(float64(rank+1) / 8 * 100); got < want || got > want+want/1000 {
			t.Errorf("the lateness of rank %d of %d is %d ns, want %d ns", rank+1, late.Count(), got, want)
		}
	}
	if late.Count() != 8 || len(readings) != 1 {
		t.Errorf("%d due times were counted, want 8; %d readings are left, want 1", late.Count(), len(readings))
	}
}

func TestClockPlan(t *testing.T) {
	w := pacing(time.Second).Workloads[2]
	p, err := clockAlone{}.Plan(w, testPair())
	want := []string{helperPath, clockVerb, "10000", "400ms", "1s"}
	if err != nil || p.Server != nil || !slices.Equal(p.Client.Argv, want) ||
		!slices.Equal(p.Client.Env, []string{process.Environment()}) || p.Expected < 1400*time.Millisecond {
		t.Errorf("%+v, %v", p, err)
	}
	for name, change := range map[string]func(*experiment.Workload){
		"rr":      func(w *experiment.Workload) { w.Mode = experiment.RR },
		"poisson": func(w *experiment.Workload) { w.Arrivals = experiment.PoissonArrivals },
		"steps":   func(w *experiment.Workload) { w.Steps = make([]experiment.Step, 1) },
	} {
		other := w
		change(&other)
		if _, err := (clockAlone{}).Plan(other, host.Pair{}); err == nil {
			t.Errorf("%s is planned", name)
		}
	}
}

func TestClockParse(t *testing.T) {
	const good = "clock-alone: due=10000 window_ns=1000000000 p50_ns=20 p99_ns=30000 p99.9_ns=80000\n"
	m, err := clockAlone{}.Parse(tool.Output{Stdout: []byte(good)})
	if err != nil || m.Tool.Name != clockName || m.Tool.Version != process.Version() ||
		m.Definition != result.DefinitionNone {
		t.Fatalf("%+v, %v", m, err)
	}
	for i, want := range []result.Metric{
		{Name: result.OfferedRate, Unit: result.PerSecond, Value: 10000},
		{Name: result.SendLateness, Stat: result.P50, Unit: result.Seconds, Value: 20e-9},
		{Name: result.SendLateness, Stat: result.P99, Unit: result.Seconds, Value: 30e-6},
		{Name: result.SendLateness, Stat: result.P999, Unit: result.Seconds, Value: 80e-6},
	} {
		if i >= len(m.Metrics) || m.Metrics[i] != want {
			t.Errorf("%+v, want %+v as the metric %d", m.Metrics, want, i)
		}
	}
	for name, bad := range map[string]string{
		"nothing":       "",
		"none due":      strings.Replace(good, "due=10000", "due=0", 1),
		"no window":     strings.Replace(good, "window_ns=1000000000", "window_ns=0", 1),
		"p50 over p99":  strings.Replace(good, "p50_ns=20", "p50_ns=30001", 1),
		"p99 over p999": strings.Replace(good, "p99.9_ns=80000", "p99.9_ns=29999", 1),
		"negative":      strings.Replace(good, "p50_ns=20", "p50_ns=-20", 1),
		"too long":      strings.Replace(good, "due=10000", "due=1000000000000000", 1),
		"no p99":        strings.Replace(good, " p99_ns=30000", "", 1),
		"another p":     strings.Replace(good, "p99.9", "p9999", 1),
		"words after":   strings.Replace(good, "80000", "80000 or so", 1),
		"words before":  "the " + good,
	} {
		if m, err := (clockAlone{}).Parse(tool.Output{Stdout: []byte(bad)}); err == nil {
			t.Errorf("%s gave %+v", name, m)
		}
	}
	if m, err := (clockAlone{}).Parse(tool.Output{Stdout: []byte(good), ExitCode: 1}); err == nil {
		t.Errorf("with exit status 1 it gave %+v", m)
	}
}

// If the clock alone is beyond the bound too, a shortfall of pacing says so. It remains a shortfall.
func TestShortfallOfTheMachine(t *testing.T) {
	late := func(p99 ...float64) map[int]result.Trial {
		of := map[int]result.Trial{}
		for i, v := range p99 {
			m := result.Metric{Name: result.SendLateness, Stat: result.P99, Unit: result.Seconds, Value: v}
			of[i+1] = result.Trial{Metrics: []result.Metric{m}}
		}
		return of
	}
	again := func(v float64) []float64 { return slices.Repeat([]float64{v}, fewestBlocks()) }
	pacing := pacing(time.Second).Checks[0]
	const (
		check = "10,000 requests/s: p99 of actual minus intended send, with native load: "
		what  = check + "short (31.00 us [31.00 us, 31.00 us], bound at most 20.00 us"
		clock = "; the clock alone: 35.00 us [35.00 us, 35.00 us]; this machine does not allow it"
	)
	for _, c := range []struct {
		name        string
		ours, alone []float64
		want        []string
	}{
		{"the machine holds it up", again(31e-6), again(35e-6), []string{what + clock + ")"}},
		{"the machine allows it", again(31e-6), again(20e-6), []string{what + ")"}},
		{"too few blocks of the clock", again(31e-6), again(35e-6)[1:], []string{what + ")"}},
		{"too few blocks", again(31e-6)[1:], again(35e-6),
			[]string{check + "cannot tell (31.00 us, bound at most 20.00 us)"}},
		{"no clock", again(31e-6), nil, []string{what + ")"}},
		{"kept in spite of it", again(19e-6), again(35e-6), nil},
	} {
		measured := trials{"pacing": late(c.ours...), "pacing-clock": late(c.alone...)}
		r := report{Checks: []checked{evaluate(pacing, measured)}}
		if got := r.shortfalls(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A check is never measured without its limit.
func TestOnlyKeepsTheLimit(t *testing.T) {
	kept := only(groups(1), regexp.MustCompile("intended send with native load$"))
	var names []string
	for _, g := range kept {
		for _, w := range g.Workloads {
			names = append(names, w.Name+" on "+w.Placement.Kind)
		}
	}
	if want := []string{"pacing on split", "pacing-clock on split"}; !slices.Equal(names, want) {
		t.Errorf("it keeps %q, want %q", names, want)
	}
}

func TestPacingSpins(t *testing.T) {
	w := pacing(time.Second).Workloads[1]
	p, err := tool.NewNative("secret").Plan(w, testPair())
	if err != nil || w.Name != "pacing-spin" || !strings.Contains(strings.Join(p.Client.Argv, " "), "--wait spin") {
		t.Errorf("%s: %q, %v", w.Name, p.Client.Argv, err)
	}
}
