package lab

import (
	"context"
	"errors"
	"net/netip"

	"github.com/vishvananda/netlink"

	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/capture"
)

// The operations of a watch.
const (
	opWireBegin = "wire-begin" // begin to watch what passes the underlay devices of an arm
	opWireEnd   = "wire-end"   // end that, and say what was seen
)

// WatchWire begins to watch the packets that leave the underlay devices of an arm, at both ends; end ends the watch and
// gives the result. Both are one request to the lab's init, which opens packet sockets in the namespaces. Nothing runs
// in between.
func (l *Lab) WatchWire(arm string) (end func() (client, server *check.Wire)) {
	if err := l.wire(opWireBegin, arm, nil); err != nil {
		return func() (client, server *check.Wire) {
			return &check.Wire{Problem: err.Error()}, &check.Wire{Problem: err.Error()}
		}
	}
	return func() (client, server *check.Wire) {
		var seen [2]check.Wire
		if err := l.wire(opWireEnd, arm, &seen); err != nil {
			return &check.Wire{Problem: err.Error()}, &check.Wire{Problem: err.Error()}
		}
		return &seen[0], &seen[1]
	}
}

func (l *Lab) wire(op, arm string, seen *[2]check.Wire) error {
	r, err := l.call(context.Background(), request{Op: op, Arm: arm})
	if err != nil || seen == nil {
		return err
	}
	if r.Seen == nil {
		return errors.New("the lab did not say what it saw")
	}
	*seen = *r.Seen
	return nil
}

// watching is the watch of an arm's underlay devices, the client's first. problems say why one is not watched.
type watching struct {
	watches  [2]*capture.Watch
	problems [2]error
}

// beginWire begins to watch an arm. A watch that nobody ended is dropped.
func (s *initServer) beginWire(arm string) error {
	a, err := s.arm(arm)
	if err != nil {
		return err
	}
	first, last := &a.plan.Spaces[0], &a.plan.Spaces[len(a.plan.Spaces)-1]
	ends := [2][]netip.Addr{
		{first.addressOf(hostDevice), first.address6Of(hostDevice)},
		{last.addressOf(hostDevice), last.address6Of(hostDevice)},
	}
	client, server := a.plan.underlay()
	w := &watching{}
	for side, at := range [2]place{client, server} {
		w.problems[side] = a.namespaces[at.space].do(func(*netlink.Handle) error {
			var err error
			w.watches[side], err = capture.Begin(capture.Options{
				// The other end sees what leaves.
				Device: at.device, Arriving: true,
				Ends: capture.Ends{Own: ends[side], Peer: ends[1-side]},
			})
			return err
		})
	}
	s.mu.Lock()
	before := a.watching
	a.watching = w
	s.mu.Unlock()
	before.end()
	return nil
}

func (s *initServer) endWire(arm string) (*[2]check.Wire, error) {
	a, err := s.arm(arm)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	w := a.watching
	a.watching = nil
	s.mu.Unlock()
	if w == nil {
		return nil, errors.New("the underlay was not watched")
	}
	return w.end(), nil
}

// end ends the watch of both ends. w may be nil.
func (w *watching) end() *[2]check.Wire {
	if w == nil {
		return nil
	}
	var seen [2]check.Wire
	for side, one := range w.watches {
		if w.problems[side] != nil {
			seen[side].Problem = w.problems[side].Error()
			continue
		}
		seen[side] = one.End()
	}
	return &seen
}
