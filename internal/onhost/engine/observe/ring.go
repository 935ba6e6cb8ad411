package observe

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/samples"
)

// sampleSlots is how many observations the ring holds: two seconds of 250,000 a second.
const sampleSlots = 1 << 19

// drainTime is how often the writer looks at the ring.
const drainTime = 200 * time.Millisecond

// An observation has the times of one request by the clock; 0 for a time that does not exist.
type observation struct{ intended, actual, reply int64 }

// A Ring takes every observation of one hot thread and hands it to a goroutine that writes it. The hot thread never
// waits: if the writer is too slow, observations are dropped and counted.
type Ring struct {
	slots []observation
	// count is how many observations the hot thread has added. At room it must check how far the writer is.
	count, room int64
	dropped     int64
	_           [64]byte
	// written is how many observations the writer may read, read how many it has read.
	written atomic.Int64
	read    atomic.Int64
	// zero is when the window began, by the clock.
	zero  atomic.Int64
	out   *samples.Writer
	quit  chan struct{}
	ended chan error
}

// handOver is how many observations become readable at once. One atomic store for each would cost more than
// everything else.
const handOver = 64

// NewRing prepares to write to w. During the measurement it writes only if the ring would overflow otherwise.
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

// Start starts the writer. It writes when a quarter of the ring is full.
func (r *Ring) Start() {
	go writeUntil(r.quit, r.ended, r.write)
}

// writeUntil calls write every drainTime until quit is closed, and then for the last time. It sends the first error, or
// nil.
func writeUntil(quit <-chan struct{}, ended chan<- error, write func(last bool) error) {
	timer := time.NewTicker(drainTime)
	defer timer.Stop()
	for {
		select {
		case <-quit:
			ended <- write(true)
			return
		case <-timer.C:
			if err := write(false); err != nil {
				ended <- err
				return
			}
		}
	}
}

// write writes all observations that are readable, at the end or if they are many.
func (r *Ring) write(last bool) error {
	zero, n, end := r.zero.Load(), r.read.Load(), r.written.Load()
	if !last && end-n < int64(len(r.slots)/4) {
		return nil
	}
	for ; n < end; n++ {
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

// Finish writes the rest, and the requests that were never answered, and returns how many observations were dropped.
// The hot thread must have ended.
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
