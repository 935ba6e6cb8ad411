package runner

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/onhost/host"
)

// dies is a client that works a number of times; during the next one the hosts are lost.
func dies(s *scene, after int) fake.Program {
	n := 0
	return func(ctx context.Context, argv []string, in []byte, stdout, stderr io.Writer) int {
		if n++; n > after {
			s.mu.Lock()
			s.lost = host.Lost("the lab", "its first process ended")
			s.mu.Unlock()
			return 1
		}
		return prints("1")(ctx, argv, in, stdout, stderr)
	}
}

// inLabs makes the hosts of all arms those of a lab.
func inLabs(e *experiment.Experiment) *experiment.Experiment {
	for i := range e.Arms {
		e.Arms[i].Lab = &experiment.Lab{}
	}
	return e
}

// A run whose lab was lost ends, records no trial that did not run, and can be resumed.
func TestLostLabEndsTheRun(t *testing.T) {
	e := inLabs(twoArms(5))
	s := &scene{}
	s.client = dies(s, 3)
	k := &kept{}
	_, err := run(t, context.Background(), s, e, DefaultLimits(), k, nil)
	if !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "its first process ended") ||
		!strings.Contains(err.Error(), "trial 4 ") {
		t.Errorf("the run ended with %v", err)
	}
	if len(k.trials) != 3 {
		t.Fatalf("%d trials are kept, want the 3 that ended before", len(k.trials))
	}
	before := k.trials
	if _, err := run(t, context.Background(), &scene{client: prints("1")}, e, DefaultLimits(), k, before); err != nil {
		t.Fatal(err)
	}
	for i, trial := range k.trials {
		if trial.Trial != i+1 || trial.Error != "" {
			t.Errorf("place %d holds trial %d, error %q", i+1, trial.Trial, trial.Error)
		}
	}
	if len(k.trials) != 10 {
		t.Errorf("%d trials after the resume, want 10", len(k.trials))
	}
}

type losingHost struct {
	host.Host
	word string
}

type lostProcess struct{ host.Process }

func (p lostProcess) Wait() error {
	return errors.Join(host.Lost("the machine", "it was switched off"), p.Stop(0))
}

func (p lostProcess) Serves(context.Context, string, int) error { return p.Wait() }

// losing are the scene's hosts, which lose the process with a given word in its command line. Only that process reports
// it.
func losing(s *scene, e *experiment.Experiment, word string) map[string]host.Hosts {
	hosts := s.hosts(e)
	for arm, h := range hosts {
		h.Client, h.Server = losingHost{h.Client, word}, losingHost{h.Server, word}
		hosts[arm] = h
	}
	return hosts
}

func (h losingHost) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	p, err := h.Host.Start(ctx, c)
	if err == nil && slices.Contains(c.Argv, h.word) && !slices.Contains(c.Argv, "--version") &&
		!slices.Contains(c.Argv, "absent") {
		p = lostProcess{p}
	}
	return p, err
}

// Whichever process of a trial finds that its host is lost, the run ends, and the trial has failed with the reason. The
// trial of a lab is not recorded.
func TestLostProcessEndsTheRun(t *testing.T) {
	for _, word := range []string{"clock", "clockd", "flow"} {
		e := twoArms(2)
		if word == "flow" {
			e = withBackground(2)
		}
		s := &scene{client: prints("1"), flow: newBeats().program}
		if word == "flow" {
			s.client = func(ctx context.Context, _ []string, _ []byte, _, _ io.Writer) int {
				<-ctx.Done() // until the background has ended
				return 1
			}
		}
		r := New(e, tools{clocked{}, flowing{}}, losing(s, e, word), DefaultLimits(), nil)
		if err := r.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		k := &kept{raw: map[string]string{}}
		if err := r.Run(t.Context(), k, nil); !errors.Is(err, host.ErrLost) || len(k.trials) != 1 ||
			!strings.HasSuffix(k.trials[0].Error, "the machine is lost: it was switched off") {
			t.Errorf("%s: the run ended with %v and the trials %+v", word, err, k.trials)
		}
		k.trials = nil
		inLabs(e)
		if err := r.Run(t.Context(), k, nil); !errors.Is(err, host.ErrLost) || len(k.trials) > 0 {
			t.Errorf("%s in a lab: the run ended with %v and %d trials", word, err, len(k.trials))
		}
	}
}
