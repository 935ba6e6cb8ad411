// Package observe keeps what the hot threads observe: histograms, intervals, samples, and counts of datagrams. A hot
// thread neither allocates nor waits when it records.
package observe

import (
	"sync/atomic"
)

// An Interval is what the hot thread recorded in one interval of the window. Times are in nanoseconds.
type Interval struct {
	Start, End    int64
	Count         int64
	Sum, Min, Max int64
	P50, P99      int64
}

// A Recorder records the observations of one hot thread. The thread writes to its own histogram. At the end of each
// interval, between two transactions, it closes the interval. Other threads read only closed intervals.
type Recorder struct {
	Length  int64 // of an interval, in nanoseconds
	Current *Histogram
	Total   *Histogram
	// Log receives every interval, unless it is nil.
	Log    *Log
	Slots  []Interval
	closed atomic.Int64
}

// NewRecorder prepares for a window and intervals of the given lengths in nanoseconds.
func NewRecorder(window, length int64) *Recorder {
	return &Recorder{Length: length, Current: NewHistogram(), Total: NewHistogram(), Slots: make([]Interval,
		window/length+2)}
}

// CloseInterval ends the interval from start to end. The hot thread calls it between two transactions. It does not
// allocate.
func (r *Recorder) CloseInterval(start, end int64) {
	h := r.Current
	n := r.closed.Load()
	if n < int64(len(r.Slots)) {
		r.Slots[n] = Interval{Start: start, End: end, Count: h.count, Sum: h.sum, Min: h.min, Max: h.max,
			P50: h.Percentile(50), P99: h.Percentile(99)}
		r.closed.Store(n + 1)
	}
	r.Absorb(start, end)
}

// Begin notes when the window begins. The hot thread calls it before the first interval.
func (r *Recorder) Begin(start int64) {
	if r.Log != nil {
		r.Log.zero.Store(start)
	}
	if s := r.Current.Samples; s != nil {
		s.zero.Store(start)
	}
}

// Absorb adds the observations from start to end to the total.
func (r *Recorder) Absorb(start, end int64) {
	r.Total.Merge(r.Current)
	if r.Log != nil {
		r.Log.add(r.Current, start, end)
	}
	r.Current.Reset()
}

// Since gives the intervals that were closed after the first n.
func (r *Recorder) Since(n int) []Interval { return r.Slots[n:r.closed.Load()] }
