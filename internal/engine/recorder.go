package engine

import (
	"fmt"
	"sync/atomic"
	"time"
)

// maxIntervals bounds the interval records of a run, and so its memory.
const maxIntervals = 3600

// An interval is what the hot thread recorded in one second of the window. All times are in nanoseconds.
type interval struct {
	start, end    int64
	count         int64
	sum, min, max int64
	p50, p99      int64
}

// A recorder takes the observations of one hot thread. The thread writes into its own histogram and, between two
// transactions at the end of each interval, closes the record of that interval; others read closed records only.
type recorder struct {
	length  int64 // of an interval, in nanoseconds
	current *Histogram
	total   *Histogram
	// log takes every interval, where it is not nil.
	log    *histogramLog
	slots  []interval
	closed atomic.Int64
}

// intervalLength is the length of an interval in nanoseconds: a second, or more where the window has more than
// maxIntervals seconds.
func intervalLength(window time.Duration) int64 {
	return int64(max(time.Second, (window+maxIntervals-1)/maxIntervals))
}

// minInterval is the shortest that can be asked for.
const minInterval = 10 * time.Millisecond

// interval is how long an interval of stream and messages is, in nanoseconds.
func (p Params) interval() int64 {
	if p.Interval > 0 {
		return int64(p.Interval)
	}
	return intervalLength(p.Duration)
}

// validateInterval says what of the length of intervals cannot be.
func (p Params) validateInterval() error {
	switch {
	case p.Interval == 0:
		return nil
	case p.Mode != ModeStream && p.Mode != ModeMessages:
		return fmt.Errorf("the length of intervals is of %s and %s, not of %s", ModeStream, ModeMessages, p.Mode)
	case p.Interval < minInterval || p.Duration/p.Interval >= maxIntervals:
		return fmt.Errorf("intervals of %v: must be at least %v, and make at most %d of the window", p.Interval, minInterval, maxIntervals)
	}
	return nil
}

// newRecorder prepares for a window of the given length.
func newRecorder(window time.Duration) *recorder {
	length := intervalLength(window)
	return &recorder{length: length, current: NewHistogram(), total: NewHistogram(), slots: make([]interval, int64(window)/length+2)}
}

// closeInterval ends the interval from start to end. It is called by the hot thread between transactions and does not
// allocate.
func (r *recorder) closeInterval(start, end int64) {
	h := r.current
	n := r.closed.Load()
	if n < int64(len(r.slots)) {
		r.slots[n] = interval{start: start, end: end, count: h.count, sum: h.sum, min: h.min, max: h.max,
			p50: h.Percentile(50), p99: h.Percentile(99)}
		r.closed.Store(n + 1)
	}
	r.absorb(start, end)
}

// begin notes when the window begins. It is called by the hot thread before the first interval.
func (r *recorder) begin(start int64) {
	if r.log != nil {
		r.log.begin(start)
	}
	if s := r.current.samples; s != nil {
		s.begin(start)
	}
}

// absorb adds what was recorded from start to end to the whole.
func (r *recorder) absorb(start, end int64) {
	r.total.Merge(r.current)
	if r.log != nil {
		r.log.add(r.current, start, end)
	}
	r.current.Reset()
}

// since gives the intervals closed after the first n.
func (r *recorder) since(n int) []interval { return r.slots[n:r.closed.Load()] }
