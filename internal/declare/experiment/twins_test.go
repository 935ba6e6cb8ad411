package experiment_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

func watchedFile(t *testing.T, inside string) *experiment.Experiment {
	t.Helper()
	file := `nearfar: v1
name: watched
arms:
  base: {lab: {path: [bridge]}}
  tuned: {lab: {path: [bridge]}, set: {wait: spin}}
workloads:
  - {name: rr, tool: native` + inside + `}
  - {name: crr, tool: native, mode: crr}
schedule: {seed: 1}
`
	e, err := experimentfile.Parse("watched.yaml", []byte(file), tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnExperimentWithoutItsTwinsIsTheOneThatIsNotWatched(t *testing.T) {
	watched, plain := watchedFile(t, ", inside: true"), watchedFile(t, "")
	if diff := cmp.Diff(plain, watched.Unwatched()); diff != "" {
		t.Errorf("(-plain +unwatched):\n%s", diff)
	}
	if plain.Unwatched() != plain {
		t.Error("an experiment that is not watched is copied")
	}
	twin, ok := watched.Twin("rr")
	if !ok || twin.Name != "rr-inside" || !watched.IsTwin("rr-inside") || watched.IsTwin("rr") {
		t.Errorf("the twin is %+v, %v", twin, ok)
	}
	both := watchedFile(t, ", inside: true, capture: true")
	if diff := cmp.Diff(plain, both.Unwatched()); diff != "" {
		t.Errorf("with both twins (-plain +unwatched):\n%s", diff)
	}
	var names []string
	for _, w := range both.Workloads {
		if names = append(names, w.Name); w.Inside && w.Capture {
			t.Errorf("%s is watched and captured at once", w.Name)
		}
	}
	if want := []string{"rr", "rr-inside", "rr-capture", "crr"}; !slices.Equal(names, want) ||
		!slices.Equal(both.Arms[1].Set[0].Workloads, want[:3]) {
		t.Errorf("the workloads are %v, and the arm sets %+v", names, both.Arms[1].Set)
	}
	if got, ok := both.CapturedTwin("rr"); !ok || got.Name != "rr-capture" || !both.IsTwin("rr-capture") {
		t.Errorf("the captured twin is %+v, %v", got, ok)
	}
	if got, _ := both.WorkloadIn("tuned", "rr-capture"); got.Wait != experiment.WaitSpin || !got.Capture {
		t.Errorf("the captured twin of the tuned arm is %+v", got)
	}
	if _, ok := watched.CapturedTwin("rr"); ok {
		t.Error("rr is captured")
	}
	if _, ok := watched.Twin("crr"); ok {
		t.Error("crr has a twin")
	}
	if got, _ := watched.WorkloadIn("tuned", "rr-inside"); got.Wait != experiment.WaitSpin || !got.Inside {
		t.Errorf("the twin of the tuned arm is %+v", got)
	}
	if len(watched.Arms[1].Set[0].Workloads) != 2 {
		t.Errorf("the arm sets %+v", watched.Arms[1].Set)
	}
}

func TestARecordedTwinIsTheTwinOfAWorkload(t *testing.T) {
	for name, change := range map[string]func(e *experiment.Experiment){
		"of nothing":    func(e *experiment.Experiment) { e.Workloads[1].InsideOf = "none" },
		"of itself":     func(e *experiment.Experiment) { e.Workloads[1].InsideOf = "rr-inside" },
		"not watched":   func(e *experiment.Experiment) { e.Workloads[1].Inside = false },
		"without whose": func(e *experiment.Experiment) { e.Workloads[1].InsideOf = "" },
		"another name":  func(e *experiment.Experiment) { e.Workloads[1].Name = "other" },
		"captured too":  func(e *experiment.Experiment) { e.Workloads[1].Capture = true },
	} {
		e := watchedFile(t, ", inside: true")
		e.Arms = e.Arms[:1] // the other names its workloads
		change(e)
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), "is not the watched one of") &&
			!strings.Contains(err.Error(), "is not the captured one of") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	e := watchedFile(t, ", inside: true")
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var read experiment.Experiment
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.CheckRunnable(tool.Declared()); err != nil {
		t.Errorf("a recorded twin cannot be run again: %v", err)
	}
}

func TestAWatchedExperimentIsComparedWithItselfUnwatched(t *testing.T) {
	e := watchedFile(t, ", inside: true")
	self, err := e.CompareWithSelf("tuned", "5%", 12, tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range self.Workloads {
		if w.Inside || w.InsideOf != "" {
			t.Errorf("it has %s", w.Name)
		}
	}
}

func TestACapturedWorkloadIsWatchedToo(t *testing.T) {
	e := watchedFile(t, ", capture: true")
	both, err := e.WatchFirst(tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range both.Workloads {
		names = append(names, w.Name)
	}
	if want := []string{"rr", "rr-inside", "rr-capture", "crr"}; !slices.Equal(names, want) {
		t.Errorf("the workloads are %v, want %v", names, want)
	}
	if again, err := both.WatchFirst(tool.Declared()); err != nil || again != both {
		t.Errorf("it is watched once more: %v", err)
	}
}
