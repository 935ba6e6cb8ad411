package observe

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"nearfar/internal/engine/samples"
)

// sampleSlots is how many observations the ring holds: those of two seconds at 250,000 a second.
const sampleSlots = 1 << 19

// drainTime is how often the ring is looked at.
const drainTime = 200 * time.Millisecond

// observation is a request's times by the clock, 0 where there is none.
type observation struct{ intended, actual, reply int64 }

// A Ring takes every observation from one hot thread, and hands them to a goroutine that writes them. Where that
// does not keep up, observations are dropped and counted: the hot thread never waits.
type Ring struct {
	slots []observation
	// count is how many the hot thread has taken, room the count at which it must look how far the writer is.
	count, room int64
	dropped     int64
	_           [64]byte
	// written is how many of them the writer may read, read how many it has.
	written atomic.Int64
	read    atomic.Int64
	// zero is when the window began, by the clock.
	zero  atomic.Int64
	out   *samples.Writer
	quit  chan struct{}
	ended chan error
}

// handOver is how many observations become readable at once: one atomic store for each would cost more than the rest.
const handOver = 64

// NewRing begins to write to w. It writes while measuring only where the ring would overflow otherwise.
func NewRing(w io.Writer, h samples.Header) (*Ring, error) {
	out, err := samples.NewWriter(w, h)
	if err != nil {
		return nil, err
	}
	r := &Ring{slots: make([]observation, sampleSlots), out: out, quit: make(chan struct{}), ended: make(chan error, 1)}
	for i := range r.slots {
		r.slots[i] = observation{} // touches the memory
	}
	return r, nil
}

// add takes one observation.
//
//go:nosplit
func (r *Ring) add(intended, actual, reply int64) {
	if r.count >= r.room {
		if r.room = r.read.Load() + int64(len(r.slots)); r.count >= r.room {
			r.dropped++
			return
		}
	}
	r.slots[r.count&int64(len(r.slots)-1)] = observation{intended: intended, actual: actual, reply: reply}
	if r.count++; r.count%handOver == 0 {
		r.written.Store(r.count)
	}
}

// begin notes when the window began. It comes before the first add.
func (r *Ring) begin(zero int64) { r.zero.Store(zero) }

// Start begins to write what has gathered, when a quarter of the ring is full.
func (r *Ring) Start() {
	go func() {
		timer := time.NewTicker(drainTime)
		defer timer.Stop()
		for {
			select {
			case <-r.quit:
				r.ended <- r.write()
				return
			case <-timer.C:
				if r.written.Load()-r.read.Load() >= int64(len(r.slots)/4) {
					if err := r.write(); err != nil {
						r.ended <- err
						return
					}
				}
			}
		}
	}()
}

// write writes what has gathered.
func (r *Ring) write() error {
	zero := r.zero.Load()
	for n, end := r.read.Load(), r.written.Load(); n < end; n++ {
		if err := r.one(r.slots[n&int64(len(r.slots)-1)], zero); err != nil {
			return err
		}
		r.read.Store(n + 1)
	}
	return nil
}

func (r *Ring) one(o observation, zero int64) error {
	err := r.out.Write(samples.Sample{Intended: o.intended - zero, Actual: o.actual - zero, Reply: o.reply - zero,
		Sent: o.actual != 0, Answered: o.reply != 0})
	if err != nil {
		return fmt.Errorf("writing the samples: %w", err)
	}
	return nil
}

// Finish writes the rest and what was never answered, and returns how many observations were dropped. The hot thread
// must have ended.
func (r *Ring) Finish(leftovers func(each func(intended, actual int64))) (int64, error) {
	r.written.Store(r.count)
	close(r.quit)
	if err := <-r.ended; err != nil {
		return r.dropped, err
	}
	var err error
	zero := r.zero.Load()
	if leftovers != nil {
		leftovers(func(intended, actual int64) {
			if err == nil && intended >= zero {
				err = r.one(observation{intended: intended, actual: actual}, zero)
			}
		})
	}
	if err == nil {
		err = r.out.Close(r.dropped)
	}
	return r.dropped, err
}
