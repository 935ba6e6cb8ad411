package execution

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// New machines are looked at again while something is missing, each problem is said once, and there is a limit.
func TestUntilReady(t *testing.T) {
	missing, lost := errors.New("sockperf is missing"), fmt.Errorf("vm-a: %w", host.ErrLost)
	type state struct {
		missing int
		err     error
	}
	for name, c := range map[string]struct {
		states     []state // the last one stays
		most, some time.Duration
		calls      int // 0: several, until the limit
		said       int
		want       error
	}{
		"ready at once": {states: []state{{}}, most: time.Hour, some: time.Hour, calls: 1},
		"tools come": {
			states: []state{{err: missing}, {err: missing}, {1, nil}, {}}, most: time.Hour, some: time.Hour, calls: 4, said: 2,
		},
		"tools never come": {
			states: []state{{err: missing}}, most: 20 * time.Millisecond, some: time.Hour, said: 1, want: missing,
		},
		"optional ones do not": {states: []state{{1, nil}}, most: time.Hour, some: 20 * time.Millisecond, said: 1},
		"a host is lost":       {states: []state{{err: lost}}, most: time.Hour, some: time.Hour, calls: 1, want: lost},
	} {
		calls, said := 0, 0
		err := untilReady(t.Context(), func(string, ...any) { said++ }, time.Millisecond, c.most, c.some,
			func() (int, error) {
				now := c.states[min(calls, len(c.states)-1)]
				calls++
				return now.missing, now.err
			})
		if !errors.Is(err, c.want) || c.calls > 0 && calls != c.calls || c.calls == 0 && calls < 2 || said != c.said {
			t.Errorf("%s: %v after %d calls, said %d times", name, err, calls, said)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := untilReady(ctx, func(string, ...any) { cancel() }, time.Hour, time.Hour, time.Hour,
		func() (int, error) { return 0, missing })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
