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

	mu    sync.Mutex
	calls map[string]*call
}

// call is one run of a program.
type call struct {
	once   sync.Once
	output []byte
	err    error
}

// run runs a command, unless it has run before, and reads the JSON that it prints.
func (s *session) run(ctx context.Context, argv []string, into any) error {
	key := strings.Join(argv, "\x00")
	s.mu.Lock()
	c := s.calls[key]
	if c == nil {
		c = &call{}
		s.calls[key] = c
	}
	s.mu.Unlock()
	c.once.Do(func() { c.output, c.err = s.start(ctx, argv) })
	if c.err != nil {
		return fmt.Errorf("%s: %w", cloudtool.Name(argv...), c.err)
	}
	if err := json.Unmarshal(c.output, into); err != nil {
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
