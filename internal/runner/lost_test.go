package runner

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"nearfar/internal/host"
	"nearfar/internal/host/fake"
	"nearfar/internal/result"
)

// dies is a client that works so many times; the hosts are lost during the next.
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

// A run whose hosts are gone ends, keeps no trial that was not tried, and goes on with a resume.
func TestLostHostsEndTheRun(t *testing.T) {
	e := twoArms(5)
	s := &scene{}
	s.client = dies(s, 3)
	k := &kept{}
	_, err := run(t, context.Background(), s, e, DefaultLimits(), k, nil)
	if !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "its first process ended") || !strings.Contains(err.Error(), "trial 4 ") {
		t.Errorf("the run ended with %v", err)
	}
	if len(k.trials) != 3 {
		t.Fatalf("%d trials are kept, want the 3 that ended before", len(k.trials))
	}
	before := k.trials
	if _, err := run(t, context.Background(), &scene{client: prints("1")}, e, DefaultLimits(), k, numbers(before)); err != nil {
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

func numbers(trials []result.Trial) map[int]bool {
	done := map[int]bool{}
	for _, t := range trials {
		done[t.Trial] = true
	}
	return done
}
