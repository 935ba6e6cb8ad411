package answer

import (
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// trialsOf makes trials from letters, in the order of their numbers: a and b are good trials of these arms, A and B
// failed ones.
func trialsOf(letters string) (trials []result.Trial) {
	for i, letter := range letters {
		t := result.Trial{Trial: i + 1, Block: i/2 + 1, Workload: "w", Arm: strings.ToLower(string(letter))}
		if string(letter) != t.Arm {
			t.Error = "it failed"
		}
		trials = append(trials, t)
	}
	return trials
}

func TestManyFailedTrialsAreReported(t *testing.T) {
	e := &experiment.Experiment{Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "w"}}}
	for letters, want := range map[string]string{
		"abab":   "",
		"ABab":   "",
		"ABAb":   "3 of 4 trials failed. All trials of a failed.",
		"aBaB":   "All trials of b failed.",
		"aBABab": "",
		"aBABAb": "4 of 6 trials failed.",
		"ABAB":   "4 of 4 trials failed.",
		"":       "",
	} {
		if got := failing(e, trialsOf(letters)); got != want {
			t.Errorf("%s: %q, want %q", letters, got, want)
		}
	}
	for letters, want := range map[string]string{"aBaB": "All trials of b failed. ",
		"ABAB": "No answer: all 4 trials failed."} {
		a := Make(Input{Experiment: e, Trials: trialsOf(letters), State: "complete"})
		if !strings.HasPrefix(a.Verdict, want) || a.Failing == "" {
			t.Errorf("%s: the verdict is %q", letters, a.Verdict)
		}
	}
}

// A failed trial that was replaced by a good one does not count; one whose replacement failed counts once.
func TestReplacedTrialsDoNotFail(t *testing.T) {
	e := &experiment.Experiment{Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "w"}}}
	again := func(trial, replaces int, reason string) result.Trial {
		return result.Trial{Trial: trial, Block: 1, Arm: "b", Workload: "w", Replaces: replaces, Error: reason}
	}
	if got := failing(e, append(trialsOf("aB"), again(3, 2, ""))); got != "" {
		t.Errorf("with a good repetition: %q", got)
	}
	if got := failing(e, append(trialsOf("aB"), again(3, 2, "it failed"))); got != "All trials of b failed." {
		t.Errorf("with a failed repetition: %q", got)
	}
}
