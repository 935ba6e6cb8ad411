package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// draws is how many runs a test draws: few in every run of the tests, which finds gross errors, and NEARFAR_SIMULATE
// for the figures of docs/statistics.md.
func draws(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("NEARFAR_SIMULATE")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("NEARFAR_SIMULATE=%s: want a number of runs", text)
	}
	return n
}

// parse reads an experiment file.
func parse(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	e, err := experimentfile.Parse("world.yaml", []byte(text), tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	e.Schedule.Seed = 4
	return e
}

// equalArms is an experiment of arms a0, a1, ... without layers, of which a0 is the baseline; 0 blocks mean the
// default schedule.
func equalArms(t *testing.T, arms, blocks int) *experiment.Experiment {
	t.Helper()
	var b strings.Builder
	for i := range arms {
		fmt.Fprintf(&b, "  a%d: {lab: {path: [bridge]}, layers: {}}\n", i)
	}
	schedule := ""
	if blocks > 0 {
		schedule = fmt.Sprintf("schedule: {blocks: %d}\n", blocks)
	}
	return parse(t, "nearfar: v1\nname: world\nbaseline: a0\narms:\n"+b.String()+
		"workloads: [{name: rr, tool: native, mode: rr}]\n"+schedule)
}

// steady is a world of log-normal trials whose levels are in seconds by arm, with a level that scatters between blocks.
func steady(name string, e *experiment.Experiment, levels map[string]float64, noise, between float64) World {
	return World{Name: name, Experiment: e, Begin: func(r *rand.Rand) Trials {
		block, level := 0, 1.0
		return func(slot experiment.Slot, t *result.Trial) {
			if slot.Block != block {
				block, level = slot.Block, math.Exp(between*r.NormFloat64())
			}
			p50 := levels[slot.Arm] * level * math.Exp(noise*r.NormFloat64())
			t.Metrics = []result.Metric{RTT(result.P50, p50)}
		}
	}}
}

// differs says whether an answer claims any difference between arms.
func differs(a answer.Answer) bool {
	for _, c := range a.Comparisons {
		if c.Verdict == figures.Higher || c.Verdict == figures.Lower {
			return true
		}
	}
	return false
}

// TestSteadyWorld checks the simulator itself: equal arms seldom differ, arms that are 15 % apart are found.
func TestSteadyWorld(t *testing.T) {
	t.Parallel()
	e := equalArms(t, 3, 0)
	n := draws(t, 200)
	equal := steady("equal", e, map[string]float64{"a0": 20e-6, "a1": 20e-6, "a2": 20e-6}, 0.03, 0.05).Draw(n, 1, differs)
	if !equal[0].AtMost(0.05) {
		t.Errorf("equal arms differ in %s of %d runs", equal[0], n)
	}
	apart := steady("apart", e, map[string]float64{"a0": 20e-6, "a1": 23e-6, "a2": 20e-6}, 0.03, 0.05).Draw(n, 2, differs)
	if !apart[0].AtLeast(0.95) {
		t.Errorf("15 %% are found in %s of %d runs", apart[0], n)
	}
}

// Failed trials are run again in their block, with numbers after those of the schedule.
func TestFailedTrialsRunAgain(t *testing.T) {
	t.Parallel()
	e := equalArms(t, 2, 6)
	w := World{Experiment: e, Begin: func(*rand.Rand) Trials {
		return func(slot experiment.Slot, t *result.Trial) {
			if slot.Block == 2 && slot.Arm == "a1" && slot.Trial <= 12 {
				t.Error = "timed out"
				return
			}
			t.Metrics = []result.Metric{RTT(result.P50, 20e-6)}
		}
	}}
	trials := w.Run(rand.New(rand.NewPCG(1, 1)))
	if len(trials) != 13 {
		t.Fatalf("%d trials, want 12 and a replacement", len(trials))
	}
	for _, again := range trials {
		if again.Trial == 13 && (again.Block != 2 || again.Arm != "a1" || again.Replaces == 0 || again.Error != "") {
			t.Errorf("replacement %+v", again)
		}
	}
}
