package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/capture"
)

// The calls of a watch.
const (
	callWireBegin = "wire-begin" // begin to watch the packets of a trial on a network device
	callWireEnd   = "wire-end"   // end that, and say how they were carried
)

// WireWatch says what an agent watches: packets between two sets of addresses, on the lowest device by which packets to
// the other side leave. The agent reads headers only.
type WireWatch struct {
	// Own are the trial's addresses of this side, Peer the addresses of the other side.
	Own  []netip.Addr `json:"own"`
	Peer []netip.Addr `json:"peer"`
	// OuterOwn and OuterPeer are the addresses of the two machines, if the trial's addresses belong to pods on them.
	OuterOwn  []netip.Addr `json:"outer_own,omitempty"`
	OuterPeer []netip.Addr `json:"outer_peer,omitempty"`
	// Arriving leaves out the packets that leave by the device.
	Arriving bool `json:"arriving,omitempty"`
}

// WatchWire begins to watch the packets of a trial on this side's underlay device. The error says why that is not
// possible. end ends the watch and gives the result, which names problems during the watch.
func (c *Client) WatchWire(w WireWatch) (end func() *check.Wire, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), watchLimit)
	defer cancel()
	key := randomHex(8)
	if _, err := c.exchange(ctx, call{request: request{Call: callWireBegin, Key: key, Wire: &w}}); err != nil {
		return nil, err
	}
	return func() *check.Wire {
		ctx, cancel := context.WithTimeout(context.Background(), watchLimit)
		defer cancel()
		r, err := c.exchange(ctx, call{request: request{Call: callWireEnd, Key: key}})
		switch {
		case err != nil:
			w := &check.Wire{Problem: err.Error()}
			w.Bound()
			return w
		case r.Wire == nil:
			return &check.Wire{Problem: "the agent did not say what it saw"}
		}
		r.Wire.Bound()
		return r.Wire
	}, nil
}

// wires are the watches of an agent: at most one runs. The last result is kept, because its call can be repeated.
type wires struct {
	mu      sync.Mutex
	key     string
	running *capture.Watch
	veth    bool // see check.Wire
	seen    *check.Wire
}

// begin begins a watch, and drops one that was not ended. strict says that the agent is on a host that nothing can log
// in to: then it watches only its own addresses.
func (s *wires) begin(key string, w *WireWatch, strict bool) error {
	if w == nil {
		return errors.New("a watch of nothing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == key {
		return nil // a repeated call
	}
	if err := w.check(strict); err != nil {
		return err
	}
	to := w.Peer
	if len(w.OuterPeer) > 0 {
		to = w.OuterPeer
	}
	var device string
	var veth bool
	err := errors.New("the other side has no address")
	for _, a := range to {
		if !a.IsValid() {
			continue
		}
		if device, veth, err = capture.Underlay(a.Unmap(), len(w.OuterPeer) > 0); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	running, err := capture.Begin(capture.Options{
		Device: device, Arriving: w.Arriving, Ends: capture.Ends{Own: w.Own, Peer: w.Peer},
		Outer: capture.Ends{Own: w.OuterOwn, Peer: w.OuterPeer},
	})
	if err != nil {
		return err
	}
	s.drop()
	s.key, s.running, s.veth, s.seen = key, running, veth, nil
	return nil
}

// drop ends a watch if no call fetches its result any more; the lock is held.
func (s *wires) drop() {
	if s.running != nil {
		s.running.End()
		s.running = nil
	}
}

func (s *wires) end(key string) (*check.Wire, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != key {
		return nil, errors.New("there is no such watch")
	}
	if s.running != nil {
		seen := s.running.End()
		seen.Veth = s.veth
		s.running, s.seen = nil, &seen
	}
	return s.seen, nil
}

func (s *wires) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// check refuses a watch that an owner may not ask for.
func (w *WireWatch) check(strict bool) error {
	if !strict {
		return nil
	}
	if len(w.OuterOwn)+len(w.OuterPeer) > 0 {
		return errors.New("this agent watches its own packets alone, and not those of other machines")
	}
	own := Facts{Addresses: interfaces()}
	for _, a := range w.Own {
		if a.IsValid() && !own.has(a.Unmap()) {
			return fmt.Errorf("this agent watches its own packets alone, and %v is not its address", a)
		}
	}
	if slices.ContainsFunc(w.Peer, func(a netip.Addr) bool { return a.IsUnspecified() }) {
		return errors.New("this agent watches the packets of one other side alone")
	}
	return nil
}
