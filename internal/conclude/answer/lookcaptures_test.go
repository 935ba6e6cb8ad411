package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/packets"
	"nearfar/internal/declare/result"
)

// capturedRun is a run with captured twins, whose trials take 1 us longer.
func capturedRun(t *testing.T, captures func(trial int) []packets.Capture) (
	e *experiment.Experiment, plain, all []result.Trial,
) {
	t.Helper()
	e = parsed(t, fmt.Sprintf(watchedTwo, ", capture: true"))
	plain = measured(e.Unwatched(), map[string]float64{"router": 2e-6})
	for i := range plain {
		twin := plain[i]
		twin.Workload, twin.Trial = "rr-capture", len(plain)+i+1
		twin.Captures = captures(twin.Trial)
		twin.Metrics = append([]result.Metric(nil), twin.Metrics...)
		for j := range twin.Metrics {
			twin.Metrics[j].Value += 1e-6
		}
		all = append(all, plain[i], twin)
	}
	return e, plain, all
}

// whole is the capture of a lab's trial at two points.
func whole(trial int) []packets.Capture {
	return []packets.Capture{{Side: packets.Both, File: fmt.Sprintf("raw/%d.pcapng", trial), Points: []packets.Point{
		{Name: "client.eth0", Packets: 4096, Dropped: 10}, {Name: "server.eth0", Packets: 4096, Dropped: 11},
	}}}
}

// No figure, finding, verdict or warning comes from captured twins. What capturing costs stands beside the answer.
func TestCapturesAreBesideTheAnswer(t *testing.T) {
	e, plain, all := capturedRun(t, whole)
	want, err := json.Marshal(Make(Input{Experiment: e.Unwatched(), Trials: plain, State: "complete"}))
	if err != nil {
		t.Fatal(err)
	}
	a := Make(Input{Experiment: e, Trials: all, State: "complete"})
	got, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-plain +captured):\n%s", diff)
	}
	warnings := len(a.Warnings)
	a.LookAtCaptures(e, all)
	if len(a.Captured) != 1 || len(a.Captured[0].Arms) != 2 || len(a.Warnings) != warnings || len(a.Inside) > 0 {
		t.Fatalf("%+v, %+v", a.Captured, a.Warnings)
	}
	c := a.Captured[0]
	if c.Workload != "rr" || c.Captured != "rr-capture" {
		t.Errorf("%+v", c)
	}
	for _, arm := range c.Arms {
		if arm.Trials != 20 || arm.Cost == nil || arm.Cost.Median < 0.99e-6 || arm.Cost.Median > 1.01e-6 ||
			arm.Cost.Interval == nil || len(arm.Machines) != 1 {
			t.Fatalf("%+v", arm)
		}
		m := arm.Machines[0]
		if m.Side != packets.Both || len(m.Files) != 20 || len(m.Points) != 2 || m.Points[0].Name != "client.eth0" ||
			m.Points[0].Packets != 20*4096 || m.Points[1].Dropped != 20*11 {
			t.Errorf("%+v", m)
		}
	}
}

func TestWhatIsNotCapturedIsSaid(t *testing.T) {
	no := packets.Capture{Side: packets.Server, Problem: "no right"}
	for name, c := range map[string]struct {
		captures func(trial int) []packets.Capture
		want     string
	}{
		"nothing": {func(int) []packets.Capture { return nil },
			"no packets were captured: there is no capture (20 of 20 trials)"},
		"one side": {func(trial int) []packets.Capture { return append(whole(trial), no) },
			"not all packets were captured: server: no right (20 of 20 trials)"},
		"many reasons": {func(trial int) []packets.Capture {
			return []packets.Capture{{Side: packets.Both, Problem: fmt.Sprintf("reason %d", trial)}}
		}, "other problems (13 of 20 trials)"},
	} {
		e, _, all := capturedRun(t, c.captures)
		a := Make(Input{Experiment: e, Trials: all, State: "complete"})
		a.LookAtCaptures(e, all)
		said := 0
		for _, w := range a.Warnings {
			if w.Code == "capture-unknown" && w.Workload == "rr" && strings.Contains(w.Message, c.want) {
				said++
			}
		}
		if said != 2 {
			t.Errorf("%s: %q is not said of both arms: %+v", name, c.want, a.Warnings)
		}
	}
	e, plain, _ := capturedRun(t, whole)
	a := Make(Input{Experiment: e, Trials: plain, State: "complete"})
	a.LookAtCaptures(e, plain)
	if last := a.Warnings[len(a.Warnings)-1]; !strings.Contains(last.Message, "no captured trial was good") {
		t.Errorf("without captured trials it says %+v", last)
	}
}
