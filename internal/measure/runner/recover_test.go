package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// lossyRun runs an experiment whose hosts are lost in the trials with the given numbers, counted as they run. fail is
// the error of making new hosts.
func lossyRun(t *testing.T, e *experiment.Experiment, k *kept, fail error, losing ...int) (anew int, err error) {
	t.Helper()
	k.raw = map[string]string{}
	ran := 0
	s := &scene{}
	s.client = func(ctx context.Context, argv []string, in []byte, stdout, stderr io.Writer) int {
		if ran++; slices.Contains(losing, ran) {
			s.mu.Lock()
			s.lost = host.Lost("a/client", "pod x was evicted")
			s.mu.Unlock()
			return 1
		}
		return prints("0.5")(ctx, argv, in, stdout, stderr)
	}
	r := New(e, tools{clocked{}}, s.hosts(e), DefaultLimits(), nil)
	r.Deployments(func(ctx context.Context, _ int) error {
		r.SetHosts(s.hosts(e))
		return r.Prepare(ctx)
	})
	r.Recover(func(ctx context.Context, lost error) error {
		if anew++; !errors.Is(lost, host.ErrLost) {
			t.Errorf("made anew after %v", lost)
		}
		if fail != nil {
			return fail
		}
		s.mu.Lock()
		s.lost = nil
		s.mu.Unlock()
		r.SetHosts(s.hosts(e))
		return r.Prepare(ctx)
	})
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return anew, r.Run(t.Context(), k, nil)
}

// errorsOf lists the trials that failed, with the trials that they replace: "2<0".
func errorsOf(k *kept) (failed []string) {
	for _, trial := range k.trials {
		if trial.Error != "" {
			failed = append(failed, fmt.Sprintf("%d<%d %s", trial.Trial, trial.Replaces, trial.Error))
		}
	}
	return failed
}

// A trial whose host is lost has failed. The run continues with new hosts, and repeats the trial at the end of its
// block.
func TestLostHostsAreMadeAnew(t *testing.T) {
	e, k := twoArms(3), &kept{}
	e.Schedule.Retries = 1
	anew, err := lossyRun(t, e, k, nil, 3)
	if err != nil || anew != 1 {
		t.Fatalf("made anew %d times, %v", anew, err)
	}
	if got := errorsOf(k); len(got) != 1 || got[0] != "3<0 a/client is lost: pod x was evicted" {
		t.Errorf("failed: %q", got)
	}
	if len(k.trials) != 7 || k.trials[4].Replaces != 3 || k.trials[4].Error != "" {
		t.Errorf("the trials are %+v", k.trials)
	}
	if got := numbers(k.trials); got != "1/0 1/0 2/0 2/0 2/0 3/0 3/0" {
		t.Errorf("trials: %s", got)
	}
}

// In a schedule of several deployments, hosts that replaced lost ones count as a separate deployment until the next
// one.
func TestLostHostsOfADeployment(t *testing.T) {
	e, k := twoArms(2), &kept{}
	e.Schedule.Deployments = 3
	anew, err := lossyRun(t, e, k, nil, 2, 6)
	if err != nil || anew != 2 {
		t.Fatalf("made anew %d times, %v", anew, err)
	}
	if got := numbers(k.trials); got != "1/1 1/1 2/4 2/4 3/2 3/2 4/5 4/5 5/3 5/3 6/3 6/3" {
		t.Errorf("trials: %s", got)
	}
}

// Hosts that are lost again and again, or cannot be made anew, end the run. It can be resumed.
func TestLostHostsEndTheRun(t *testing.T) {
	full := errors.New("no node fits")
	for _, c := range []struct {
		name         string
		fail         error
		losing       []int
		anew, trials int
		says         string
	}{
		{"cannot be made", full, []int{3}, 1, 3, "The hosts cannot be made anew: no node fits"},
		{"in a row", nil, []int{3, 4, 5, 6}, 2, 5, "lost in 3 trials, and no trial between them succeeded"},
		{"too often", nil, []int{1, 3, 5, 7}, 2, 5, "made anew 2 times, which is the limit"},
	} {
		k := &kept{}
		anew, err := lossyRun(t, twoArms(5), k, c.fail, c.losing...)
		if !errors.Is(err, host.ErrLost) || !strings.Contains(fmt.Sprint(err), c.says) ||
			!strings.Contains(err.Error(), "was given up: a/client is lost: pod x was evicted") {
			t.Errorf("%s: the run ended with %v", c.name, err)
		}
		if c.fail != nil && !errors.Is(err, c.fail) {
			t.Errorf("%s: %v does not wrap the reason", c.name, err)
		}
		if anew != c.anew || len(k.trials) != c.trials || k.trials[c.trials-1].Error == "" {
			t.Errorf("%s: made anew %d times; trials %+v", c.name, anew, k.trials)
		}
		s := &scene{client: prints("1")}
		if _, err := run(t, t.Context(), s, twoArms(5), DefaultLimits(), k, k.trials); err != nil {
			t.Errorf("%s: resumed: %v", c.name, err)
		}
	}
}
