package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// count says how many lines of the log begin with a word; and end with another, if there is one.
func (s *scene) count(word, end string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.log {
		if strings.HasPrefix(line, word) && strings.HasSuffix(line, end) {
			n++
		}
	}
	return n
}

// isServing waits until as many servers have served.
func (s *scene) isServing(t *testing.T, servers int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); s.count("ready:", "") < servers; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d servers serve, want %d", s.count("ready:", ""), servers)
		}
	}
}

// nothingRuns checks that all servers have ended.
func (s *scene) nothingRuns(t *testing.T) {
	t.Helper()
	if ended := s.count("server", "ends"); s.count("server", "") != 2*ended {
		t.Errorf("%d of %d servers have ended", ended, s.count("server", "")-ended)
	}
}

// The next server starts when the server before has ended, and serves when the trial is recorded. The next client
// starts after that.
func TestServerStartsWhileTheOneBeforeEnds(t *testing.T) {
	s := &scene{client: prints("0.5"), overlap: true}
	e := twoArms(3)
	slots, k := e.Slots(), &kept{}
	k.after = func() {
		if len(k.trials) < len(slots) {
			s.isServing(t, len(k.trials)+1)
		}
		s.note("recorded")
	}
	if _, err := run(t, t.Context(), s, e, DefaultLimits(), k, nil); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, slot := range slots {
		if i == 0 {
			want = append(want, "server "+slot.Arm, "ready: tcp 7")
		}
		want = append(want, "client "+slot.Arm, "server "+slot.Arm+" ends")
		if i+1 < len(slots) {
			want = append(want, "server "+slots[i+1].Arm, "ready: tcp 7")
		}
		want = append(want, "recorded")
	}
	if diff := cmp.Diff(want, s.log); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	for i, got := range k.trials {
		if got.Trial != slots[i].Trial || got.Arm != slots[i].Arm || got.Error != "" {
			t.Errorf("trial %d is %+v, want %+v", i, got, slots[i])
		}
		if i > 0 && got.Started.Before(k.trials[i-1].Started) {
			t.Errorf("trial %d started before the one before", got.Trial)
		}
	}
}

// If a trial fails, its replacement can come next, and not the trial that has begun. The run is as one without overlap.
func TestServerOfAnotherTrialIsDropped(t *testing.T) {
	var runs [2][]string
	for i, overlap := range []bool{false, true} {
		tries := 0
		s := &scene{overlap: overlap, client: func(_ context.Context, _ []string, _ []byte, out, _ io.Writer) int {
			if tries++; tries == 2 { // the last one of its block
				return 0 // without a number
			}
			fmt.Fprintln(out, "0.5")
			return 0
		}}
		e, k := twoArms(3), &kept{}
		e.Schedule.Retries = 1
		if overlap {
			k.after = func() {
				if len(k.trials) == 2 {
					s.isServing(t, 3)
				}
			}
		}
		if _, err := run(t, t.Context(), s, e, DefaultLimits(), k, nil); err != nil {
			t.Fatal(err)
		}
		for _, got := range k.trials {
			runs[i] = append(runs[i], fmt.Sprintln(got.Trial, got.Replaces, got.Block, got.Arm, got.Error, len(got.Raw)))
		}
		s.nothingRuns(t)
		if want := 7 + i; s.count("ready:", "") != want {
			t.Errorf("%d servers served, want %d", s.count("ready:", ""), want)
		}
	}
	if diff := cmp.Diff(runs[0], runs[1]); diff != "" || len(runs[0]) != 7 {
		t.Errorf("trials (-without overlap +with):\n%s", diff)
	}
}

// An interrupt ends the server that has begun.
func TestInterruptEndsTheServerBegun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, k := &scene{client: prints("1"), overlap: true}, &kept{}
	k.after = func() {
		if len(k.trials) == 3 {
			s.isServing(t, 4)
			cancel()
		}
	}
	_, err := run(t, ctx, s, twoArms(5), DefaultLimits(), k, nil)
	if !errors.Is(err, context.Canceled) || len(k.trials) != 3 {
		t.Errorf("%d trials and %v, want 3 and an interrupt", len(k.trials), err)
	}
	s.nothingRuns(t)
}

// stubborn is a host on which the stop of the first process fails.
type stubborn struct {
	host.Host
	failed *bool
	why    error
}

type stubbornProcess struct {
	host.Process
	why error
}

func (h stubborn) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	p, err := h.Host.Start(ctx, c)
	if err == nil && c.Argv[0] == "clockd" && !*h.failed {
		*h.failed = true
		return stubbornProcess{p, h.why}, nil
	}
	return p, err
}

func (p stubbornProcess) Stop(grace time.Duration) error {
	return errors.Join(p.Process.Stop(grace), p.why)
}

// A failed stop is an error of its own trial, although the next one has begun. If the host is lost, nothing runs on it
// when new hosts are made.
func TestFailedStopWhileTheNextServerStarts(t *testing.T) {
	for _, why := range []error{errors.New("it does not end"), host.Lost("a/server", "it was switched off")} {
		s, e := &scene{client: prints("1"), overlap: true}, twoArms(2)
		hosts, k := s.hosts(e), &kept{raw: map[string]string{}}
		failed := false
		for arm, h := range hosts {
			h.Server = stubborn{h.Server, &failed, why}
			hosts[arm] = h
		}
		r := New(e, tools{clocked{}}, hosts, DefaultLimits(), nil)
		if err := r.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		recovered := 0
		r.Recover(func(context.Context, error) error {
			recovered++
			s.nothingRuns(t)
			return nil
		})
		if err := r.Run(t.Context(), k, nil); err != nil {
			t.Fatal(err)
		}
		var errs []string
		for _, got := range k.trials {
			errs = append(errs, got.Error)
		}
		if len(errs) != 4 || !strings.Contains(errs[0], why.Error()) || strings.Join(errs[1:], "") != "" {
			t.Errorf("errors %q, want %q in the first of 4", errs, why)
		}
		if lost := errors.Is(why, host.ErrLost); (recovered == 1) != lost {
			t.Errorf("hosts were made anew %d times after %v", recovered, why)
		}
		s.nothingRuns(t)
	}
}

// Trials overlap only within a deployment, on machines that allow it, and if the next one has no background.
func TestTrialsThatMayNotOverlap(t *testing.T) {
	e := withBackground(2)
	e.Workloads = append(slices.Clone(e.Workloads), experiment.Workload{Name: "plain", Tool: "clocked"})
	s := &scene{overlap: true}
	r := New(e, tools{clocked{}, flowing{}}, s.hosts(e), DefaultLimits(), nil)
	slot := func(deployment int, workload string) experiment.Slot {
		return experiment.Slot{Deployment: deployment, Arm: e.Arms[0].Name, Workload: workload}
	}
	with := e.Workloads[0].Name
	for _, c := range []struct {
		now, next experiment.Slot
		overlap   bool
		want      bool
	}{
		{slot(1, "plain"), slot(1, "plain"), true, true},
		{slot(1, "plain"), slot(1, "plain"), false, false},
		{slot(1, "plain"), slot(2, "plain"), true, false},
		{slot(1, "plain"), slot(1, with), true, false},
	} {
		s.overlap = c.overlap
		if got := r.mayOverlap(c.now, c.next); got != c.want {
			t.Errorf("%+v, %+v: overlap %v, want %v", c.now, c.next, got, c.want)
		}
	}
}
