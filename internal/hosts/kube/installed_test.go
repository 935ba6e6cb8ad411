package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	"nearfar/internal/onhost/agent"
)

// TestOnceInstalled: the connection to an agent that copies itself is tried again until the copy is there, and not
// after other errors.
func TestOnceInstalled(t *testing.T) {
	missing := errors.New(`exec: "/nearfar/nearfar-agent": stat /nearfar/nearfar-agent: no such file or directory`)
	denied := errors.New("forbidden")
	for name, c := range map[string]struct {
		errs  []error
		limit time.Duration
		want  error
		tries int
	}{
		"at once":  {[]error{nil}, time.Hour, nil, 1},
		"at last":  {[]error{missing, missing, nil}, time.Hour, nil, 3},
		"denied":   {[]error{denied}, time.Hour, denied, 1},
		"then":     {[]error{missing, denied}, time.Hour, denied, 2},
		"too late": {[]error{missing}, -time.Second, missing, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			_, err := onceInstalled(t.Context(), c.limit, func() (*agent.Client, error) {
				tries++
				return nil, c.errs[tries-1]
			})
			if !errors.Is(err, c.want) || tries != c.tries {
				t.Errorf("%d tries, %v; want %d, %v", tries, err, c.tries, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := onceInstalled(ctx, time.Hour, func() (*agent.Client, error) {
		cancel()
		return nil, missing
	})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, missing) {
		t.Errorf("canceled: %v", err)
	}
}
