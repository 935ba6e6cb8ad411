package answer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// eight is an experiment of eight arms with the default schedule.
func eight(t *testing.T) *experiment.Experiment {
	t.Helper()
	var arms strings.Builder
	for i := range 8 {
		fmt.Fprintf(&arms, "  arm%d: {lab: {path: [bridge]}, layers: {}}\n", i)
	}
	e, err := experimentfile.Parse("eight.yaml", []byte("nearfar: v1\nname: eight\narms:\n"+arms.String()+
		"workloads: [{name: rr, tool: native, mode: rr}]\n"), tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	e.Schedule.Seed = 4
	return e
}

// rounds makes trials of rtt p50 and p99 with 3 % of noise. Every arm but the baseline is higher by the share effect.
func rounds(e *experiment.Experiment, effect float64) []result.Trial {
	random := rand.New(rand.NewPCG(3, 4))
	var trials []result.Trial
	for _, slot := range e.Slots() {
		level := 20e-6
		if slot.Arm != e.Baseline {
			level *= 1 + effect
		}
		metric := func(stat string, of float64) result.Metric {
			return result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds,
				Value: of * level * (1 + 0.03*random.NormFloat64())}
		}
		trials = append(trials, result.Trial{
			Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload, Repeat: slot.Repeat,
			Tool: result.ToolVersion{Name: "native"},
			Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
			Metrics: []result.Metric{metric(result.P50, 1), metric(result.P99, 2)},
		})
	}
	return trials
}

// spoil replaces the first trial of the baseline.
func spoil(e *experiment.Experiment, trials []result.Trial, with func(*result.Trial)) []result.Trial {
	for i := range trials {
		if trials[i].Arm == e.Baseline {
			with(&trials[i])
			return trials
		}
	}
	panic("no trial of the baseline")
}

func fails(t *result.Trial) { t.Error, t.Metrics = "the server ended before it served", nil }

func stalls(t *result.Trial) {
	for i := range t.Metrics {
		t.Metrics[i].Value *= 8
	}
}

// One bad trial of the baseline, which all comparisons share, changes none of their verdicts.
func TestOneBadTrialOfTheBaselineChangesNoVerdict(t *testing.T) {
	for name, with := range map[string]func(*result.Trial){"it stalls": stalls, "it fails": fails} {
		for _, repeats := range []int{3, 1} {
			e := eight(t)
			e.Schedule.BaselineRepeats = repeats
			a := Make(Input{Experiment: e, Trials: spoil(e, rounds(e, 0.15), with), State: "complete"})
			if len(a.Comparisons) != 14 {
				t.Fatalf("%d comparisons, want 14", len(a.Comparisons))
			}
			for _, c := range a.Comparisons {
				if c.Verdict != figures.Higher || c.Family != 7 {
					t.Errorf("%s, the baseline %d times a block: %s %s is %s in a family of %d", name, repeats, c.Arm,
						c.Name(), c.Verdict, c.Family)
				}
			}
		}
	}
}

// A block with three baseline trials gives one value; the arm's row still counts all trials.
func TestRepeatsMakeOneValueABlock(t *testing.T) {
	e := eight(t)
	a := Make(Input{Experiment: e, Trials: rounds(e, 0), State: "complete"})
	if a.Arms[0].Trials != 36 || a.Arms[1].Trials != 12 || a.Comparisons[0].Blocks != 12 {
		t.Errorf("%d and %d trials, %d blocks; want 36, 12 and 12", a.Arms[0].Trials, a.Arms[1].Trials,
			a.Comparisons[0].Blocks)
	}
	for _, w := range a.Warnings {
		if w.Code == "incomplete" || w.Code == "too-few-blocks" {
			t.Errorf("warning %+v", w)
		}
	}
	trials := rounds(e, 0)
	a = Make(Input{Experiment: e, Trials: trials[:40], State: "interrupted"})
	if w := a.Warnings[0]; w.Code != "incomplete" || !strings.Contains(w.Message, "40 of 120 trials") {
		t.Errorf("warning %+v, want 40 of 120 trials", w)
	}
}

func TestReplacedTrialsAreCounted(t *testing.T) {
	e := eight(t)
	trials := spoil(e, rounds(e, 0.15), fails)
	good := trials[1]
	for _, other := range trials {
		if other.Arm == e.Baseline && other.Error == "" && other.Block == 1 {
			good = other
		}
	}
	var failed result.Trial
	for _, other := range trials {
		if other.Error != "" {
			failed = other
		}
	}
	again, second := failed, good
	again.Trial, again.Replaces = 121, failed.Trial
	second.Trial, second.Repeat, second.Replaces = 122, failed.Repeat, failed.Trial
	a := Make(Input{Experiment: e, Trials: append(trials, again, second), State: "complete"})
	if a.Trials != 122 || a.Failed != 2 || a.Replaced != 2 || a.Arms[0].Trials != 36 {
		t.Errorf("%d trials, %d failed, %d replaced, %d good of the baseline; want 122, 2, 2, 36", a.Trials, a.Failed,
			a.Replaced, a.Arms[0].Trials)
	}
	for _, w := range a.Warnings {
		if w.Code == "failed-trials" && !strings.HasPrefix(w.Message,
			"2 of 38 trials failed, and good trials of the same block replace them") {
			t.Errorf("warning %q", w.Message)
		}
	}
}

func TestVerdictThatOneBlockDecides(t *testing.T) {
	e := eight(t)
	e.Arms = e.Arms[:2]
	e.Schedule.Blocks, e.Schedule.BaselineRepeats = 7, 1
	a := Make(Input{Experiment: e, Trials: spoil(e, rounds(e, 0.5), stalls), State: "complete"})
	var said []string
	for _, w := range a.Warnings {
		if w.Code == "one-block-decides" {
			said = append(said, w.Message)
		}
	}
	// One block contradicts, and keeps the others from being a difference. That happens to every third pair of equal
	// arms, and is no reason to measure more.
	if c := a.Comparisons[0]; len(said) != 0 || c.Verdict != figures.NoDifference || c.OneBlock != nil {
		t.Errorf("warnings %q, %+v", said, c)
	}
	e.Schedule.Blocks = 6
	said = nil
	a = Make(Input{Experiment: e, Trials: rounds(e, 0.5), State: "complete"})
	for _, w := range a.Warnings {
		if w.Code == "one-block-decides" {
			said = append(said, w.Message)
		}
	}
	want := "rtt p50: the difference of arm1 rests on one block: it is not found without one of those that agree"
	if len(said) == 0 || said[0] != want {
		t.Errorf("warnings %q, want %q first", said, want)
	}
}

// For arms that are alike, the number of blocks for the observed difference has no meaning; the number for 5 % has.
func TestResolveAnswersForAlikeArms(t *testing.T) {
	e := eight(t)
	e.Schedule.Blocks = 10
	trials := rounds(e, 0)
	aim := func(text string) *figures.Aim {
		a, err := figures.ParseAim(text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	small := Make(Input{Experiment: e, Trials: trials, State: "complete", Resolve: aim("5%")}).Comparisons[0].Resolve
	large := Make(Input{Experiment: e, Trials: trials, State: "complete", Resolve: aim("10us")}).Comparisons[0].Resolve
	if small == nil || small.Blocks == nil || *small.Blocks <= 10 || *small.BlocksNeeded != *small.Blocks-10 ||
		small.Difference < 0.95e-6 || small.Difference > 1.05e-6 {
		t.Errorf("5 %%: %+v", small)
	}
	if large == nil || large.Blocks == nil || *large.Blocks != 9 || *large.BlocksNeeded != 0 ||
		large.Difference != 10e-6 {
		t.Errorf("10 us: %+v, want the 9 blocks that seven comparisons take", large)
	}
	if r := Make(Input{Experiment: e, Trials: trials, State: "complete",
		Resolve: aim("10Mbit/s")}).Comparisons[0].Resolve; r != nil {
		t.Errorf("a rate is resolved in a time: %+v", r)
	}
	plan := *e
	plan.Schedule.Blocks = 40
	forecasts := figures.Foresee(figures.Run{Experiment: e, Trials: trials}, &plan, aim("5%"))
	if len(forecasts) != 14 {
		t.Fatalf("%d forecasts, want 14", len(forecasts))
	}
	for _, f := range forecasts {
		if f.Detectable == nil || *f.Detectable <= 0 || *f.Detectable > 0.1*f.Level || f.Resolve.Blocks == nil {
			t.Errorf("%+v", f)
		}
	}
	plan.Schedule.Blocks = 8
	if f := figures.Foresee(figures.Run{Experiment: e, Trials: trials}, &plan, nil)[0]; f.Detectable != nil ||
		f.Resolve != nil {
		t.Errorf("8 blocks for 7 comparisons: %+v", f)
	}
}
