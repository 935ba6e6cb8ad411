package observe

import (
	"nearfar/internal/engine/timing"
)

// Moments are readings of the clock that wait to be recorded. A closed loop notes one for each transaction and records many
// at once: between two transactions the kernel has taken the caches, and what is done there is done cold.
type Moments struct {
	Ticks [MomentsLen]uint64
	N     int
}

// MomentsLen is how many wait: 8 KiB, which stay in the second cache.
const MomentsLen = 1024

// Add notes a reading, and says whether there is room for one more.
//
//go:nosplit
func (m *Moments) Add(tick uint64) bool {
	m.Ticks[m.N] = tick
	m.N++
	return m.N < MomentsLen
}

// RecordAfter records the times from the end of the transaction before, the first counted from start, to the readings, and
// forgets them. The ends are kept. With h nil nothing is recorded.
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

// Record records the times between the readings, the first counted from start, and forgets the readings. It returns the
// last one's time, or start where there is none. With h nil nothing is recorded.
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
