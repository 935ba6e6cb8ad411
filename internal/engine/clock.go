package engine

import (
	"math/bits"
	"time"
	_ "unsafe" // for go:linkname
)

// nanotime is the runtime's monotonic clock in nanoseconds: one vDSO call. time.Since reads the same clock, but has a
// stack check at its start where the scheduler may step in; this has none, so a hot loop that calls it runs undisturbed.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// clock is nanotime for a hot loop. Where the kernel itself keeps time by the processor's time stamp counter, it reads
// that counter directly: on a CPU that has just come back from another process the vDSO's code and data are cold, which
// makes its call some 80 ns of each transaction.
type clock struct {
	base    int64  // nanotime when the counter stood at counter
	counter uint64 // where the counter stood
	// perTick is nanoseconds per tick of the counter, times 2^32; 0 where nanotime is read instead.
	perTick uint64
}

// calibration is how long the counter is held against nanotime. Both are read to within 50 ns or so, so that a
// microsecond is right to a hundredth of a nanosecond.
const calibration = 10 * time.Millisecond

// newClock makes a clock. It takes as long as the calibration.
func newClock() clock {
	if !counterUsable() {
		return clock{}
	}
	before, counterBefore := readBoth()
	time.Sleep(calibration)
	after, counterAfter := readBoth()
	if after <= before || counterAfter <= counterBefore {
		return clock{}
	}
	high, low := bits.Mul64(uint64(after-before), 1<<32)
	ticks := counterAfter - counterBefore
	if high >= ticks { // the quotient would not fit
		return clock{}
	}
	perTick, _ := bits.Div64(high, low, ticks)
	return clock{perTick: perTick}
}

// readBoth reads both clocks at the same moment, as nearly as several tries get it: between two readings of nanotime that
// lie as close together as they do.
func readBoth() (now int64, counter uint64) {
	least := int64(1) << 62
	for range 16 {
		first := nanotime()
		c := readCounter()
		last := nanotime()
		if last-first < least {
			least, now, counter = last-first, first+(last-first)/2, c
		}
	}
	return now, counter
}

// start sets the clock by nanotime and returns the time. It comes before now, and again from time to time: what the
// calibration is wrong by, a few parts in a million, then does not add up.
//
//go:nosplit
func (c *clock) start() int64 {
	c.base = nanotime()
	if c.perTick != 0 {
		c.counter = readCounter()
	}
	return c.base
}

// now is the time, on nanotime's scale.
//
//go:nosplit
func (c *clock) now() int64 { return c.at(c.read()) }

// read reads the clock in its own ticks.
//
//go:nosplit
func (c *clock) read() uint64 {
	if c.perTick == 0 {
		return uint64(nanotime())
	}
	return readCounter()
}

// at is the time of a reading since start, on nanotime's scale.
//
//go:nosplit
func (c *clock) at(tick uint64) int64 {
	if c.perTick == 0 {
		return int64(tick)
	}
	high, low := bits.Mul64(tick-c.counter, c.perTick)
	return c.base + int64(high<<32|low>>32)
}

// tick is what the clock will read at a time, to within some nanoseconds; a time before start is start.
//
//go:nosplit
func (c *clock) tick(ns int64) uint64 {
	if c.perTick == 0 {
		return uint64(ns)
	}
	return c.counter + uint64(float64(max(ns-c.base, 0))*(1<<32)/float64(c.perTick))
}

// name says what is read, for the facts.
func (c *clock) name() string {
	if c.perTick == 0 {
		return "monotonic"
	}
	return "time stamp counter"
}
