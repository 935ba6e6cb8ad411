package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"nearfar/internal/cloud/cloudtool"
)

// maxOutput bounds what a program may print, in bytes.
const maxOutput = 1 << 20

// session runs programs. A command that several machines need runs once.
type session struct {
	limits  Limits
	running chan struct{}

	mu sync.Mutex
	// calls run their program when they are first called, and give its output.
	calls map[string]func() ([]byte, error)
}

// run runs a command, unless it has run before, and reads the JSON that it prints.
func (s *session) run(ctx context.Context, argv []string, into any) error {
	key := strings.Join(argv, "\x00")
	s.mu.Lock()
	call := s.calls[key]
	if call == nil {
		call = sync.OnceValues(func() ([]byte, error) { return s.start(ctx, argv) })
		s.calls[key] = call
	}
	s.mu.Unlock()
	output, err := call()
	if err != nil {
		return fmt.Errorf("%s: %w", cloudtool.Name(argv...), err)
	}
	if err := json.Unmarshal(output, into); err != nil {
		return fmt.Errorf("%s: its output cannot be read: %w", cloudtool.Name(argv...), err)
	}
	return nil
}

// start runs a program and returns its standard output.
func (s *session) start(ctx context.Context, argv []string) ([]byte, error) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
		return nil, s.late(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Call)
	defer cancel()
	out, err := cloudtool.Run(ctx, maxOutput, argv...)
	switch {
	case cloudtool.Missing(err):
		return nil, errors.New("the program is not installed on the machine that runs nearfar")
	case ctx.Err() != nil:
		return nil, s.late(ctx)
	}
	return out, err
}

// late says why a program has no time left.
func (s *session) late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return ctx.Err()
}
