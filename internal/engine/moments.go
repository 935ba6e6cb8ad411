package engine

// moments are readings of the clock that wait to be recorded. A closed loop notes one for each transaction and records many
// at once: between two transactions the kernel has taken the caches, and what is done there is done cold.
type moments struct {
	ticks [momentsLen]uint64
	n     int
}

// momentsLen is how many wait: 8 KiB, which stay in the second cache.
const momentsLen = 1024

// add notes a reading, and says whether there is room for one more.
//
//go:nosplit
func (m *moments) add(tick uint64) bool {
	m.ticks[m.n] = tick
	m.n++
	return m.n < momentsLen
}

// record records the times between the readings, the first counted from start, and forgets the readings. It returns the
// last one's time, or start where there is none. With h nil nothing is recorded.
//
//go:nosplit
func (m *moments) record(h *Histogram, c *clock, start int64) int64 {
	for i := range m.n {
		now := c.at(m.ticks[i])
		if h != nil {
			h.observe(start, now)
		}
		start = now
	}
	m.n = 0
	return start
}
