package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/machine"
)

// observations are those that an agent makes for its owner, one at a time.
type observations struct {
	making sync.Mutex
	kept   []keptObservation // the newest ones, the oldest first

	mu    sync.Mutex
	begun []string      // the keys of the newest ones, the oldest first
	next  chan struct{} // closed when the next one is made; nil if nobody waits
}

// A keptObservation is given again to an owner whose connection broke before it had the answer.
type keptObservation struct {
	key  string
	seen observed
}

const (
	// maxKept is how many observations are kept: the owner waits for two at a time, the last of a trial and the first of
	// the next one.
	maxKept = 4
	// maxObservations is how many keys are remembered: a trial makes two observations.
	maxObservations = 16
	// observeFirst is how long a start waits for the observation that its owner asked for before it. A trial goes on
	// without one: its owner sees by the times that the observation came too late.
	observeFirst = 5 * time.Second
)

// made notes that an observation was made, or cannot be.
func (o *observations) made(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key == "" || slices.Contains(o.begun, key) {
		return
	}
	o.begun = append(o.begun, key)
	if over := len(o.begun) - maxObservations; over > 0 {
		o.begun = slices.Delete(o.begun, 0, over)
	}
	if o.next != nil {
		close(o.next)
		o.next = nil
	}
}

// await waits for an observation, or until ctx ends.
func (o *observations) await(ctx context.Context, key string) {
	for {
		o.mu.Lock()
		if slices.Contains(o.begun, key) {
			o.mu.Unlock()
			return
		}
		if o.next == nil {
			o.next = make(chan struct{})
		}
		next := o.next
		o.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// observe reads the state of the CPUs, the CPU time of processes that have ended since the observation before, and the
// counters of the path to the other side; if the request names a process, when that has ended, and if it names another
// observation, after that. The same key gives the same observation.
func (s *server) observe(ctx context.Context, q request) (observed, error) {
	if q.After != "" {
		if s.observations.await(ctx, q.After); ctx.Err() != nil {
			return observed{}, ctx.Err()
		}
	}
	if q.Ended != "" {
		err := s.supervisor.Await(ctx, q.Ended)
		if err == nil {
			_, err = s.supervisor.Wait(ctx, q.Ended) // one that was forgotten has ended too
		}
		if ctx.Err() != nil {
			return observed{}, err // the owner has given the call up
		}
	}
	o := &s.observations
	o.making.Lock()
	defer o.making.Unlock()
	for _, kept := range o.kept {
		if q.Key == kept.key && q.Key != "" {
			return kept.seen, nil
		}
	}
	defer o.made(q.Key)
	seen, err := s.look(q)
	if err != nil {
		return observed{}, err
	}
	if len(o.kept) == maxKept {
		o.kept = slices.Delete(o.kept, 0, 1)
	}
	o.kept = append(o.kept, keptObservation{q.Key, seen})
	return seen, nil
}

// look makes an observation.
func (s *server) look(q request) (observed, error) {
	allowed, err := machine.CPUs()
	if err != nil {
		return observed{}, err
	}
	cpus := q.CPUs
	if len(cpus) == 0 {
		cpus = allowed
	}
	o := observed{State: s.reader.Read(cpus, allowed)}
	if o.State.Err != nil {
		return observed{}, o.State.Err
	}
	o.Ended = s.supervisor.TakeUses()
	if q.To.IsValid() && !q.To.IsUnspecified() {
		read := s.o.Counters
		if read == nil {
			read = check.ReadCounters
		}
		o.Counters = new(read(q.To.WithZone("")))
	}
	return o, nil
}
