package experiment_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

const selfExample = `nearfar: v1
name: x
baseline: plain
hosts:
  vm-a: {ssh: vm-a}
  vm-b: {ssh: vm-b}
  vm-c: {ssh: vm-c}
arms:
  plain: {lab: {path: [bridge]}}
  spin:  {lab: {path: [bridge]}, set: {wait: spin}}
  far:   {client: vm-a, server: vm-c, layers: {}}
workloads:
  - {name: rr, tool: native, duration: 2s}
  - {name: rr-short, tool: native, duration: 400ms}
  - {name: bulk, tool: iperf3, duration: 5s}
  - {name: brief, tool: iperf3, duration: 1s}
  - {name: sweep, tool: native, mode: load, steps: [{rate: 100/s, for: 1s}, {rate: 200/s, for: 1s}]}
objectives: [rr rtt.p99 < 1ms]
schedule: {blocks: 9, deployments: 1}
`

func compareWithSelf(t *testing.T, text, arm string) *experiment.Experiment {
	t.Helper()
	e, err := experimentfile.Parse("x.yaml", []byte(text), testTools)
	if err != nil {
		t.Fatal(err)
	}
	self, err := e.CompareWithSelf(arm, "5%", 30, testTools)
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// TestCompareWithSelf: both arms have the hosts and the values of the arm, also once the declaration has been through
// run.json, from where it can be run.
func TestCompareWithSelf(t *testing.T) {
	e := compareWithSelf(t, selfExample, "spin")
	kept := keptRunnable(t, e)
	if diff := cmp.Diff(e.SelfComparison, kept.SelfComparison); diff != "" {
		t.Error(diff)
	}
	if e.Name != "x-baseline" || e.Baseline != "spin" || len(e.Objectives) > 0 || len(e.Hosts) > 0 {
		t.Errorf("name %s, baseline %s, objectives %v, hosts %v", e.Name, e.Baseline, e.Objectives, e.Hosts)
	}
	if e.Schedule.Blocks != 30 || e.SelfComparison.Blocks != 9 || e.SelfComparison.Comparisons != 2 {
		t.Errorf("schedule %+v of %+v", e.Schedule, e.SelfComparison)
	}
	for _, arm := range e.Arms {
		if kept.HostsOf(arm.Name) != "spin" {
			t.Errorf("%s uses the hosts of %s", arm.Name, kept.HostsOf(arm.Name))
		}
		w, ok := kept.WorkloadIn(arm.Name, "rr")
		if !ok || w.Wait != experiment.WaitSpin {
			t.Errorf("%s waits by %q", arm.Name, w.Wait)
		}
	}
	if len(e.Arms) != 2 || e.Arms[1].Name != "spin-again" {
		t.Errorf("arms %+v", e.Arms)
	}
	s := time.Second
	want := []experiment.Lengths{
		{"rr", "rr-short-2", []time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s}},
		{"rr-short", "rr-short-short", []time.Duration{s / 10, s / 5, 2 * s / 5, 4 * s / 5, 8 * s / 5}},
		{"bulk", "bulk-short", []time.Duration{2 * s, 4 * s, 5 * s, 10 * s, 20 * s}},
		{"brief", "", []time.Duration{s}},
		{"sweep", "", []time.Duration{2 * s}},
	}
	if diff := cmp.Diff(want, e.SelfComparison.Lengths); diff != "" {
		t.Error(diff)
	}
	short, _ := e.Workload("bulk-short")
	long, _ := e.Workload("bulk")
	if short.Duration != 2*s {
		t.Errorf("bulk-short lasts %v", short.Duration)
	}
	short.Name, short.Duration = long.Name, long.Duration
	if diff := cmp.Diff(long, short); diff != "" {
		t.Errorf("a short workload differs in more than its duration: %s", diff)
	}
}

// TestCountedWorkloadIsNotShortened: with half of the duration it would make as many round trips.
func TestCountedWorkloadIsNotShortened(t *testing.T) {
	w, _ := compareWithSelf(t, selfExample, "spin").Workload("rr")
	if _, ok := w.Shortened(testTools); !ok {
		t.Error("a workload without iterations cannot be shortened")
	}
	w.Iterations = 1000
	if short, ok := w.Shortened(testTools); ok {
		t.Errorf("a workload of 1000 iterations is shortened to %v", short.Duration)
	}
}

// TestCompareGivenHostsWithSelf: hosts that the arm does not use are not connected to.
func TestCompareGivenHostsWithSelf(t *testing.T) {
	e := compareWithSelf(t, selfExample, "far")
	var names []string
	for _, h := range e.Hosts {
		names = append(names, h.Name)
	}
	if !slices.Equal(names, []string{"vm-a", "vm-c"}) || e.HostsOf("far-again") != "far" {
		t.Errorf("hosts %v; far-again uses those of %s", names, e.HostsOf("far-again"))
	}
	if err := e.CheckRunnable(testTools); err != nil {
		t.Error(err)
	}
}

func TestCompareWithSelfRefuses(t *testing.T) {
	e, err := experimentfile.Parse("x.yaml", []byte(selfExample), testTools)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.CompareWithSelf("nobody", "5%", 30, testTools)
	if err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an arm that is not there: %v", err)
	}
	if _, err := e.CompareWithSelf("plain", "5%", experiment.MaxBlocks+1, testTools); err == nil {
		t.Error("too many blocks pass")
	}
	// A value that was read from a run directory can be anything.
	for what, change := range map[string]func(*experiment.SelfComparison){
		"a workload that is not there": func(s *experiment.SelfComparison) { s.Lengths[0].Workload = "none" },
		"a short one that is not":      func(s *experiment.SelfComparison) { s.Lengths[0].Short = "none" },
		"no length":                    func(s *experiment.SelfComparison) { s.Lengths[0].Durations[0] = 0 },
		"too many lengths": func(s *experiment.SelfComparison) {
			s.Lengths[0].Durations = make([]time.Duration, 17)
		},
		"no comparison": func(s *experiment.SelfComparison) { s.Comparisons = 0 },
	} {
		self := compareWithSelf(t, selfExample, "plain")
		change(self.SelfComparison)
		if self.Check() == nil {
			t.Errorf("%s passes", what)
		}
	}
}

// TestHostsFrom: only an arm with the same lab can lend its hosts.
func TestHostsFrom(t *testing.T) {
	lab := func(kind string) *experiment.Lab {
		return &experiment.Lab{Path: []experiment.Element{{Kind: kind}}, MTU: 1500}
	}
	e := &experiment.Experiment{Arms: []experiment.Arm{
		{Name: "a", Lab: lab(experiment.Bridge)}, {Name: "b", Lab: lab(experiment.Bridge), HostsFrom: "a"},
		{Name: "c", Lab: lab(experiment.Router), HostsFrom: "a"}, {Name: "d", Lab: lab(experiment.Bridge), HostsFrom: "d"},
	}}
	for arm, want := range map[string]string{"a": "a", "b": "a", "c": "c"} {
		if got := e.HostsOf(arm); got != want {
			t.Errorf("%s uses the hosts of %s, want %s", arm, got, want)
		}
	}
	e.HostsOf("d") // ends
}

// keptRunnable is an experiment as run.json keeps it, from where it can be run.
func keptRunnable(t *testing.T, e *experiment.Experiment) *experiment.Experiment {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	kept := &experiment.Experiment{}
	if err := json.Unmarshal(text, kept); err != nil {
		t.Fatal(err)
	}
	if err := kept.CheckRunnable(testTools); err != nil {
		t.Fatal(err)
	}
	return kept
}
