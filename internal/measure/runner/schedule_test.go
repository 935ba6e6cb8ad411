package runner

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/fake"
)

// failing is a client that fails in the listed runs, counted from 1.
func failing(runs ...int) fake.Program {
	n := 0
	return func(_ context.Context, _ []string, _ []byte, stdout, stderr io.Writer) int {
		if n++; slices.Contains(runs, n) {
			fmt.Fprintln(stderr, "cannot connect")
			return 1
		}
		fmt.Fprintln(stdout, "1")
		return 0
	}
}

// plan describes what ran: the number of each trial, its block, and the trial that it replaces.
func planOf(trials []result.Trial) string {
	var text []string
	for _, t := range trials {
		line := fmt.Sprintf("%d:%d", t.Trial, t.Block)
		if t.Replaces > 0 {
			line += fmt.Sprintf("<%d", t.Replaces)
		}
		if t.Error != "" {
			line += "!"
		}
		text = append(text, line)
	}
	return fmt.Sprint(text)
}

func TestFailedTrialsAreReplacedInTheirBlock(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks int
		client fake.Program
		want   string
	}{
		{"one fails", 3, failing(3), "[1:1 2:1 3:2! 4:2 7:2<3 5:3 6:3]"},
		{"the last one fails", 2, failing(4), "[1:1 2:1 3:2 4:2! 5:2<4]"},
		{"a replacement fails too", 2, failing(1, 3), "[1:1! 2:1 5:1<1! 6:1<1 3:2 4:2]"},
		{"two of a block fail", 2, failing(1, 2), "[1:1! 2:1! 5:1<1 6:1<2 3:2 4:2]"},
	} {
		e := twoArms(c.blocks)
		e.Schedule.Retries = 2
		k := &kept{}
		if _, err := run(t, context.Background(), &scene{client: c.client}, e, DefaultLimits(), k, nil); err != nil {
			t.Fatal(err)
		}
		if got := planOf(k.trials); got != c.want {
			t.Errorf("%s: ran %s, want %s", c.name, got, c.want)
		}
		for _, again := range k.trials {
			for _, first := range k.trials {
				if again.Replaces == first.Trial && (again.Arm != first.Arm || again.Workload != first.Workload ||
					again.Block != first.Block) {
					t.Errorf("%s: trial %d of %s stands for trial %d of %s", c.name, again.Trial, again.Arm,
						first.Trial, first.Arm)
				}
			}
		}
	}
}

// An arm that never works adds two trials. An arm that sometimes fails adds at most a tenth of the run.
func TestReplacementsAreBounded(t *testing.T) {
	ran := func(e *experiment.Experiment, fails func(s experiment.Slot, n int) bool) (n, replaced int) {
		s := newSchedule(e, nil, nil)
		for {
			slot, more := s.next()
			if !more {
				return n, replaced
			}
			if n++; n > 1000 {
				t.Fatal("the run does not end")
			}
			if slot.Replaces > 0 {
				replaced++
			}
			s.ended(slot, fails(slot, n))
		}
	}
	e := twoArms(50)
	e.Schedule.Retries = 2
	if n, replaced := ran(e, func(s experiment.Slot, _ int) bool { return s.Arm == "b" }); n != 102 || replaced != 2 {
		t.Errorf("an arm that never works: %d trials, %d of them replacements; want 102 and 2", n, replaced)
	}
	if n, replaced := ran(e, func(_ experiment.Slot, n int) bool { return n%2 == 0 }); n != 110 || replaced != 10 {
		t.Errorf("every second trial fails: %d trials, %d of them replacements; want 110 and 10", n, replaced)
	}
	e.Schedule.Retries = 0
	if n, replaced := ran(e, func(_ experiment.Slot, n int) bool { return n%2 == 0 }); n != 100 || replaced != 0 {
		t.Errorf("without retries: %d trials, %d of them replacements", n, replaced)
	}
}

// A run that is killed after any of its trials and resumed has the same trials as a run that is not killed.
func TestResumedRunCompletesTheSamePlan(t *testing.T) {
	e := twoArms(6)
	e.Schedule.Retries, e.Schedule.BaselineRepeats = 2, 3
	failed := map[int]bool{2: true, 7: true, 20: true, 24: true, 25: true}
	carryOut := func(before []result.Trial, most int) []result.Trial {
		s := newSchedule(e, nil, before)
		trials := slices.Clone(before)
		for len(trials) < most {
			slot, more := s.next()
			if !more {
				break
			}
			trial := result.Trial{Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
				Repeat: slot.Repeat, Replaces: slot.Replaces}
			if failed[slot.Trial] {
				trial.Error = "failed"
			}
			s.ended(slot, trial.Error != "")
			trials = append(trials, trial)
		}
		return trials
	}
	whole := carryOut(nil, 1000)
	if len(whole) <= 24 {
		t.Fatalf("only %d trials: nothing was replaced", len(whole))
	}
	seen := map[int]bool{}
	for _, trial := range whole {
		if seen[trial.Trial] {
			t.Errorf("trial %d is there twice", trial.Trial)
		}
		seen[trial.Trial] = true
	}
	for killed := range len(whole) {
		if got := carryOut(carryOut(nil, killed), 1000); planOf(got) != planOf(whole) {
			t.Errorf("killed after %d trials: %s, want %s", killed, planOf(got), planOf(whole))
		}
	}
}

// The progress of a run with replacements counts them, and ends at its total.
func TestProgressCountsReplacements(t *testing.T) {
	e := twoArms(3)
	e.Schedule.Retries = 1
	s := &scene{client: failing(1, 5)}
	var last Event
	r := New(e, tools{clocked{}, flowing{}}, s.hosts(e), DefaultLimits(), func(e Event) {
		if e.Done > e.Total || e.Left < 0 {
			t.Errorf("%+v", e)
		}
		last = e
	})
	if err := r.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	k := &kept{raw: map[string]string{}}
	if err := r.Run(context.Background(), k, nil); err != nil {
		t.Fatal(err)
	}
	if len(k.trials) != 8 || last.Done != 8 || last.Total != 8 || last.Left != 0 {
		t.Errorf("%d trials, the last event is %+v; want 8 of 8 and no time left", len(k.trials), last)
	}
}

// If the user asks for it, a run repeats the trials that failed for good, once each and after all others.
func TestRetryFailed(t *testing.T) {
	e := twoArms(2)
	for _, c := range []struct {
		name   string
		before []result.Trial
		client fake.Program
		want   string
	}{
		{"a complete run", failedOnes(e, 4, 2, 3), failing(2), "[1:1 2:1! 3:2! 4:2 5:1<2 6:2<3!]"},
		{"an interrupted run", failedOnes(e, 2, 1), failing(), "[1:1! 2:1 3:2 4:2 5:1<1]"},
		{"nothing failed", failedOnes(e, 4), failing(), "[1:1 2:1 3:2 4:2]"},
	} {
		k := &kept{raw: map[string]string{}, trials: slices.Clone(c.before)}
		r := New(e, tools{clocked{}, flowing{}}, (&scene{client: c.client}).hosts(e), DefaultLimits(), nil)
		r.RetryFailed()
		if err := r.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.Run(t.Context(), k, c.before); err != nil {
			t.Fatal(err)
		}
		if got := planOf(k.trials); got != c.want {
			t.Errorf("%s: ran %s, want %s", c.name, got, c.want)
		}
		for _, again := range k.trials {
			if first := e.Slots()[max(again.Replaces, 1)-1]; again.Replaces > 0 &&
				(again.Arm != first.Arm || again.Workload != first.Workload) {
				t.Errorf("%s: trial %d of %s stands for one of %s", c.name, again.Trial, again.Arm, first.Arm)
			}
		}
	}
}

// failedOnes are the first trials of a schedule without replacements. The given trials failed.
func failedOnes(e *experiment.Experiment, n int, failed ...int) (trials []result.Trial) {
	for _, slot := range e.Slots()[:n] {
		t := result.Trial{Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload}
		if slices.Contains(failed, slot.Trial) {
			t.Error = "it failed"
		}
		trials = append(trials, t)
	}
	return trials
}

// A run that ends by itself is asked once after each complete block, with its replacements, and with all trials so far.
func TestRunEndsWhenItKnowsEnough(t *testing.T) {
	e := twoArms(5)
	e.Schedule.Retries = 2
	s := &scene{client: failing(3)}
	k := &kept{raw: map[string]string{}}
	var asked []string
	enough := func(trials []result.Trial) bool {
		asked = append(asked, planOf(trials))
		return len(asked) == 3
	}
	r := New(e, tools{clocked{}, flowing{}}, s.hosts(e), DefaultLimits(), nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Until(enough)
	if err := r.Run(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"[1:1 2:1]", "[1:1 2:1 3:2! 4:2 11:2<3]", "[1:1 2:1 3:2! 4:2 11:2<3 5:3 6:3]"}
	if got := planOf(k.trials); got != want[2] || !slices.Equal(asked, want) {
		t.Errorf("ran %s, asked with %q", got, asked)
	}
}
