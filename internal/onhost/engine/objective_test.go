package engine

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]Objective{
		"response_time.p99 < 500us": {"response_time.p99 < 500us", result.ResponseTime, "p99", 500e-6},
		" service_time.p99.9<2ms ":  {"service_time.p99.9 < 2ms", result.ServiceTime, "p99.9", 2e-3},
		"response_time.max < 1s":    {"response_time.max < 1s", result.ResponseTime, "max", 1},
		"loss < 0.1%":               {"loss < 0.1%", result.Loss, "", 0.001},
	} {
		got, err := ParseObjective(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if again, err := ParseObjective(got.String()); err != nil || again != got {
			t.Errorf("%q is not read again: %v", got, err)
		}
	}
	for _, wrong := range []string{"", "response_time.p99", "response_time.p99 > 1ms", "rtt.p99 < 1ms",
		"response_time.p98 < 1ms",
		"response_time < 1ms", "response_time.p99 < 1", "response_time.p99 < 0s", "loss < 0%", "loss < 200%",
		"loss < 1ms", "< 1ms", strings.Repeat("x", 200) + "<1ms"} {
		if _, err := ParseObjective(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func FuzzParseObjective(f *testing.F) {
	f.Add("response_time.p99 < 500us")
	f.Add("loss < 0.1%")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseObjective(text)
		if err != nil {
			return
		}
		if !(o.limit > 0) || math.IsInf(o.limit, 0) {
			t.Fatalf("%q has a limit of %v", text, o.limit)
		}
		if again, err := ParseObjective(o.String()); err != nil || again != o {
			t.Fatalf("%q is not read again: %+v, %v", o, again, err)
		}
	})
}

// queue gives the results of a server that answers capacity requests a second, each in 10 us if it is idle.
func queue(capacity float64) func(rate float64) (record.Result, error) {
	return func(rate float64) (record.Result, error) {
		r := record.Result{Duration: 1, Metrics: []result.Metric{{Name: result.OfferedRate, Value: rate}}}
		if rate >= capacity {
			r.Metrics = append(r.Metrics, result.Metric{Name: result.Unanswered, Value: rate - capacity})
			return r, nil
		}
		p99 := 10e-6 / (1 - rate/capacity)
		r.Metrics = append(r.Metrics, result.Metric{Name: result.ResponseTime, Stat: result.P99, Value: p99})
		return r, nil
	}
}

func sweepOf(t *testing.T, objective string, rates []float64, measure func(float64) (record.Result,
	error)) (record.Sweep, error) {
	t.Helper()
	o, err := ParseObjective(objective)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	s := sweep{options: SweepOptions{Rates: rates, Objective: &o}, measure: measure,
		each: func(record.Point) error { told++; return nil }}
	if err := s.curve(); err != nil {
		return s.record, err
	}
	err = s.find()
	if told != len(s.record.Points) {
		t.Errorf("told of %d points of %d", told, len(s.record.Points))
	}
	return s.record, err
}

// TestSweepFinds: p99 is 50 us at 8/10 of the capacity.
func TestSweepFinds(t *testing.T) {
	s, err := sweepOf(t, "response_time.p99 < 50us", GeometricRates(1000, 64000), queue(20000))
	if err != nil || s.Best == nil {
		t.Fatal(s, err)
	}
	if *s.Best > 16000 || *s.Best < 16000/sweepPrecision {
		t.Errorf("found %v, not 16000 to within 5 %%", *s.Best)
	}
	if last := s.Points[6-1]; last.Rate != 32000 || last.Unanswered != 12000 || len(s.Notes) != 1 {
		t.Errorf("the curve does not end at the overload: %+v, %v", last, s.Notes)
	}
}

func TestSweepEnds(t *testing.T) {
	lowest, err := sweepOf(t, "response_time.p99 < 1us", []float64{3000, 1000}, queue(20000))
	if err != nil || lowest.Best != nil || !strings.Contains(lowest.Verdict, "even the lowest rate, 1000/s") {
		t.Error(lowest, err)
	}
	highest, err := sweepOf(t, "response_time.p99 < 1s", []float64{1000, 3000}, queue(20000))
	if err != nil || highest.Best == nil || *highest.Best != 3000 || !strings.Contains(highest.Verdict,
		"the limit is higher") {
		t.Error(highest, err)
	}
	_, err = sweepOf(t, "response_time.p99.9 < 1s", []float64{1000}, queue(20000))
	if err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("too few requests: %v", err)
	}
	gone := errors.New("gone")
	if _, err := sweepOf(t, "loss < 1%", []float64{1}, func(float64) (record.Result, error) {
		return record.Result{},
			gone
	}); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func TestSweepValidates(t *testing.T) {
	run := session.RunOptions{Params: enginetest.Load(wire.TCP, 1),
		Load: session.Load{Schedule: timing.Schedule{Arrivals: timing.ConstantArrivals}}}
	loss, err := ParseObjective("loss < 1%")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]SweepOptions{
		"no rates":    {Run: run},
		"many rates":  {Run: run, Rates: make([]float64, MaxSweepRates+1)},
		"no rate":     {Run: run, Rates: []float64{0}},
		"loss of tcp": {Run: run, Rates: []float64{1}, Objective: &loss},
	} {
		if _, err := Sweep(context.Background(), o, func(record.Point) error { return nil }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestSweepWarnsOfSleep: the sender sleeps at the lower rates and spins at the higher.
func TestSweepWarnsOfSleep(t *testing.T) {
	for spin, want := range map[time.Duration]int{0: 0, 70 * time.Microsecond: 1, session.MaxSpin: 0} {
		s := sweep{options: SweepOptions{Rates: []float64{64000, 1000},
			Run: session.RunOptions{Load: session.Load{Spin: spin}}}}
		s.sleeps()
		if len(s.record.Notes) != want {
			t.Errorf("spinning for %v: %q", spin, s.record.Notes)
		}
	}
}

func TestGeometricRates(t *testing.T) {
	if got := GeometricRates(1000, 5000); len(got) != 4 || got[2] != 4000 || got[3] != 5000 {
		t.Error(got)
	}
	if got := GeometricRates(1000, 1000); len(got) != 1 {
		t.Error(got)
	}
	if got := GeometricRates(1e-3, 1e9); len(got) > MaxSweepRates+2 {
		t.Error(len(got))
	}
}

// flaky is a queue whose measurements near the limit miss now and then: at 12,000/s and above every third does.
func flaky(capacity float64) func(rate float64) (record.Result, error) {
	n := 0
	calm := queue(capacity)
	return func(rate float64) (record.Result, error) {
		n++
		if rate >= 12000 && n%3 == 0 {
			return calm(0.9 * capacity) // as if more was offered
		}
		return calm(rate)
	}
}

func searchOf(t *testing.T, trials int, rates []float64, measure func(float64) (record.Result, error)) record.Sweep {
	t.Helper()
	o, err := ParseObjective("response_time.p99 < 50us")
	if err != nil {
		t.Fatal(err)
	}
	s := sweep{options: SweepOptions{Rates: rates, Objective: &o, Trials: trials}, measure: measure,
		each: func(record.Point) error { return nil }}
	if err := errors.Join(s.curve(), s.find()); err != nil {
		t.Fatal(err)
	}
	return s.record
}

// TestSearchByMajority: single measurements that miss do not move the search, and the range in which they do is told.
func TestSearchByMajority(t *testing.T) {
	s := searchOf(t, 5, GeometricRates(1000, 64000), flaky(20000))
	if s.Best == nil || s.Upper == nil || *s.Best > 16000 || *s.Upper < 16000 || *s.Upper > *s.Best*sweepPrecision {
		t.Fatalf("%+v", s)
	}
	if s.Doubtful == nil || s.Doubtful[0] < 12000 || s.Doubtful[0] >= *s.Best || s.Doubtful[1] != *s.Upper {
		t.Errorf("%v, and the bounds are %v and %v", s.Doubtful, *s.Best, *s.Upper)
	}
	if !strings.Contains(s.Verdict, "in most of 5 trials is ") || !strings.Contains(s.Verdict, "single trials missed it") {
		t.Errorf("%q", s.Verdict)
	}
	tried := map[float64]int{}
	for _, p := range s.Points {
		tried[p.Rate]++
	}
	for rate, n := range tried {
		if n > 5 {
			t.Errorf("%d trials at %v/s", n, rate)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	if s := searchOf(t, 3, []float64{17000, 18000}, queue(20000)); s.Best != nil ||
		!strings.Contains(s.Verdict, "even the lowest rate, 17000/s") {
		t.Errorf("%+v", s)
	}
	// The first measurement at the highest rate misses by chance.
	n := 0
	s := searchOf(t, 3, []float64{1000, 2000}, func(rate float64) (record.Result, error) {
		if n++; n == 2 {
			return queue(20000)(19000)
		}
		return queue(20000)(rate)
	})
	if s.Best == nil || *s.Best != 2000 || s.Upper != nil || !strings.Contains(s.Verdict, "the limit is higher") {
		t.Errorf("%+v", s)
	}
	for trials, want := range map[int]string{2: "several trials decide", MaxTrials + 1: "write 1 to", -1: "write 1 to"} {
		err := SweepOptions{Rates: []float64{1}, Trials: trials}.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d trials: %v", trials, err)
		}
	}
}

// TestFailedRequestsMissAnObjective: if so many requests fail that a percentile is not known, it is not kept.
func TestFailedRequestsMissAnObjective(t *testing.T) {
	o, err := ParseObjective("response_time.p99 < 50us")
	if err != nil {
		t.Fatal(err)
	}
	r := record.Result{Metrics: []result.Metric{{Name: result.Errors, Value: 3}}}
	if kept, err := o.Kept(r); kept || err != nil {
		t.Errorf("%v, %v", kept, err)
	}
	r.Metrics[0].Value = 0
	if _, err := o.Kept(r); err == nil {
		t.Error("a value that is not there, without failures, says nothing")
	}
}
