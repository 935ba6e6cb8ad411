package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lookinside "nearfar/internal/conclude/answer/inside"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

const watchedTwo = `
arms:
  plain:  {lab: {path: [bridge]}}
  routed: {lab: {path: [bridge, router]}}
workloads: [{name: rr, tool: native%s}]
schedule: {blocks: 20, seed: 1}
`

// watchedRun is a run with watched twins, whose trials take 1 us longer. The router takes 2 us.
func watchedRun(t *testing.T) (e *experiment.Experiment, plain, all []result.Trial) {
	t.Helper()
	e = parsed(t, fmt.Sprintf(watchedTwo, ", inside: true"))
	plain = measured(e.Unwatched(), map[string]float64{"router": 2e-6})
	for i := range plain {
		twin := plain[i]
		twin.Workload, twin.Trial = "rr-inside", len(plain)+i+1
		twin.Inside = []string{fmt.Sprintf("raw/%d", twin.Trial)}
		twin.Metrics = append([]result.Metric(nil), twin.Metrics...)
		for j := range twin.Metrics {
			twin.Metrics[j].Value += 1e-6
		}
		all = append(all, plain[i], twin)
	}
	return e, plain, all
}

// recordings gives what a watcher saw: a round trip of one step, and a router. Both take so many nanoseconds.
func recordings(trials []result.Trial, send, router int64, problem string) func(string) (io.ReadCloser, error) {
	arms := map[string]string{}
	for _, t := range trials {
		for _, name := range t.Inside {
			arms[name] = t.Arm
		}
	}
	return func(name string) (io.ReadCloser, error) {
		r := inside.Recording{Version: inside.Version, Side: inside.Both, Sampled: 10, Complete: 10, Problem: problem}
		p := inside.Path{Steps: []inside.Step{{Way: inside.Request, Kind: inside.Send}}}
		spans := []int64{send}
		if arms[name] == "routed" {
			p.Steps = append(p.Steps, inside.Step{Way: inside.Request, Kind: inside.Forward})
			spans = append(spans, router)
		}
		for range 10 {
			p.Trips = append(p.Trips, inside.Trip{Spans: spans})
		}
		if r.Paths = []inside.Path{p}; problem != "" {
			r.Paths, r.Sampled, r.Complete = nil, 0, 0
		}
		data, err := json.Marshal(r)
		return io.NopCloser(bytes.NewReader(data)), err
	}
}

// No figure, finding, verdict or warning comes from watched twins.
func TestTheAnswerIsMadeWithoutTwins(t *testing.T) {
	e, plain, all := watchedRun(t)
	want, err := json.Marshal(Make(Input{Experiment: e.Unwatched(), Trials: plain, State: "complete"}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(Make(Input{Experiment: e, Trials: all, State: "complete"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-plain +watched):\n%s", diff)
	}
}

func TestTheInsideIsBesideTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		send, router int64
		code         string
		says         string
	}{
		// The plain round trip takes 8.12 us, so that the event of a system call costs 0.88 us, and another 0.25 us.
		"agree": {9000, 2251, "", ""},
		"disagree": {9000, 6251, "inside-disagrees",
			"the elements of router, less what recording them costs, say +6.00 us"},
		"the sum":     {5000, 2000, "inside-sum", "% of the round trip that the tool reports: a part of it is not seen"},
		"cannot here": {9000, 0, "inside-unknown", "nothing was seen inside the path: no right (20 of 20 trials)"},
	} {
		e, _, all := watchedRun(t)
		a := Make(Input{Experiment: e, Trials: all, State: "complete"})
		problem := ""
		if name == "cannot here" {
			problem = "no right"
		}
		a.LookInside(e, all, recordings(all, c.send, c.router, problem))
		if len(a.Inside) != 1 || a.Inside[0].Workload != "rr" || len(a.Inside[0].Arms) != 2 {
			t.Fatalf("%s: %+v", name, a.Inside)
		}
		if c := a.Inside[0].Arms[0].Cost; c == nil || c.Median < 0.99e-6 || c.Median > 1.01e-6 {
			t.Errorf("%s: the cost of watching is %+v", name, c)
		}
		var found []string
		for _, w := range a.Warnings {
			if strings.HasPrefix(w.Code, "inside-") {
				found = append(found, w.Code+": "+w.Message)
			}
		}
		text := strings.Join(found, "\n")
		if c.code == "" && text != "" || !strings.Contains(text, c.code) || !strings.Contains(text, c.says) {
			t.Errorf("%s: the warnings are %q, want %s: %s", name, text, c.code, c.says)
		}
	}
	e, _, _ := watchedRun(t)
	var a Answer
	if a.LookInside(e.Unwatched(), nil, nil); a.Inside != nil {
		t.Error("an experiment without twins has an inside")
	}
}

// Trials of a twin that are too short for the percentile that is told first are compared by their means.
func TestShortTwinsAreComparedByMeans(t *testing.T) {
	watched, _, ofWatched := watchedRun(t)
	capturing, _, ofCaptured := capturedRun(t, whole)
	for _, trials := range [][]result.Trial{ofWatched, ofCaptured} {
		for i := range trials {
			median := trials[i].Metrics[0]
			mean := median
			mean.Stat = result.Mean
			mean.Value += 5e-6
			if trials[i].Metrics = []result.Metric{median, mean}; trials[i].Workload != "rr" {
				trials[i].Metrics = []result.Metric{mean}
			}
		}
	}
	a := Make(Input{Experiment: watched, Trials: ofWatched, State: "complete"})
	a.LookInside(watched, ofWatched, recordings(ofWatched, 9000, 2000, ""))
	a.LookAtCaptures(capturing, ofCaptured)
	seen, captured := a.Inside[0], a.Captured[0]
	if a.Arms[0].Name() != "rtt p50" || seen.Quantity != "rtt mean" || captured.Quantity != "rtt mean" {
		t.Fatalf("%q is told first, watched trials are compared by %q, captured ones by %q",
			a.Arms[0].Name(), seen.Quantity, captured.Quantity)
	}
	for name, cost := range map[string]*lookinside.Measure{
		"watching": seen.Arms[0].Cost, "capturing": captured.Arms[0].Cost,
	} {
		if cost == nil || cost.Median < 0.99e-6 || cost.Median > 1.01e-6 {
			t.Errorf("the cost of %s is %+v", name, cost)
		}
	}
	if seen.Arms[0].Ratio == nil || seen.Arms[0].Reported == nil {
		t.Errorf("of the watched trials is known %+v", seen.Arms[0])
	}
}
