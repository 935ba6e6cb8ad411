package lab

import (
	"context"
	"errors"

	"nearfar/internal/declare/check"
)

// counted are the counters of the two hosts of an arm.
type counted struct {
	Client check.Counters `json:"client"`
	Server check.Counters `json:"server"`
}

// count reads the counters of an arm's hosts at the same time, each on a thread in the host's network namespace. It
// starts no process.
func (s *initServer) count(arm string) (*counted, error) {
	a, err := s.arm(arm)
	if err != nil {
		return nil, err
	}
	last := len(a.plan.Spaces) - 1
	read := func(into *check.Counters, space, peer int) error {
		return onThread(func() error {
			if err := a.namespaces[space].enter(); err != nil {
				return err
			}
			*into = check.ReadCounters(a.plan.Spaces[peer].addressOf(hostDevice))
			return nil
		})
	}
	var c counted
	server := make(chan error)
	go func() { server <- read(&c.Server, last, 0) }()
	err = read(&c.Client, 0, last)
	return &c, errors.Join(err, <-server)
}

// countAt reads the counters of an arm's hosts; nil if that fails.
func (l *Lab) countAt(arm string) *counted {
	r, err := l.call(context.Background(), request{Op: opCount, Arm: arm})
	if err != nil {
		return nil
	}
	return r.Counted
}
