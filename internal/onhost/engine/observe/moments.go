package observe

import (
	"nearfar/internal/onhost/engine/timing"
)

// Moments are readings of the clock that have not been recorded yet. A closed loop notes one for each transaction and
// records many at once: during a transaction the kernel replaces the contents of the caches, so work between two
// transactions is slow.
type Moments struct {
	Ticks [MomentsLen]uint64
	N     int
}

// MomentsLen is how many readings are kept: 8 KiB, which stay in the L2 cache.
const MomentsLen = 1024

// Add notes a reading, and says whether there is room for another one.
//
//go:nosplit
func (m *Moments) Add(tick uint64) bool {
	m.Ticks[m.N] = tick
	m.N++
	return m.N < MomentsLen
}

// RecordAfter records, for each transaction, the time from the end of the one before to the reading, and forgets the
// readings. The first transaction began at start. The ends are kept. If h is nil, nothing is recorded.
//
//go:nosplit
func (m *Moments) RecordAfter(ends *Moments, h *Histogram, c *timing.Clock, start int64) {
	if h != nil {
		for i := range ends.N {
			h.Record(c.At(m.Ticks[i]) - start)
			start = c.At(ends.Ticks[i])
		}
	}
	m.N = 0
}

// Record records the times between the readings, the first one from start, and forgets the readings. It returns the
// time of the last reading, or start if there is none. If h is nil, nothing is recorded.
//
//go:nosplit
func (m *Moments) Record(h *Histogram, c *timing.Clock, start int64) int64 {
	for i := range m.N {
		now := c.At(m.Ticks[i])
		if h != nil {
			h.Observe(start, now)
		}
		start = now
	}
	m.N = 0
	return start
}
