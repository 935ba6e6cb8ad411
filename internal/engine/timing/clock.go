// Package timing is the engine's time: the clock that the hot loops read, the times at which requests are due, and sleeping.
// All times are in nanoseconds of the runtime's monotonic clock unless something else is said.
package timing

import (
	"math/bits"
	"time"
	_ "unsafe" // for go:linkname
)

// Now is the runtime's monotonic clock in nanoseconds: one vDSO call. time.Since reads the same clock, but has a
// stack check at its start where the scheduler may step in; this has none, so a hot loop that calls it runs undisturbed.
//
//go:linkname Now runtime.nanotime
func Now() int64

// Clock is nanotime for a hot loop. Where the kernel itself keeps time by the processor's time stamp counter, it reads
// that counter directly: on a CPU that has just come back from another process the vDSO's code and data are cold, which
// makes its call some 80 ns of each transaction.
type Clock struct {
	base    int64  // nanotime when the counter stood at counter
	counter uint64 // where the counter stood
	// perTick is nanoseconds per tick of the counter, times 2^32; 0 where nanotime is read instead.
	perTick uint64
}

// calibration is how long the counter is held against nanotime. Both are read to within 50 ns or so, so that a
// microsecond is right to a hundredth of a nanosecond.
const calibration = 10 * time.Millisecond

// HasCounter says whether clocks read the processor's time stamp counter here.
func HasCounter() bool { return counterUsable() }

// NewClock makes a clock. It takes as long as the calibration.
func NewClock() Clock {
	if !counterUsable() {
		return Clock{}
	}
	before, counterBefore := readBoth()
	time.Sleep(calibration)
	after, counterAfter := readBoth()
	if after <= before || counterAfter <= counterBefore {
		return Clock{}
	}
	high, low := bits.Mul64(uint64(after-before), 1<<32)
	ticks := counterAfter - counterBefore
	if high >= ticks { // the quotient would not fit
		return Clock{}
	}
	perTick, _ := bits.Div64(high, low, ticks)
	return Clock{perTick: perTick}
}

// readBoth reads both clocks at the same moment, as nearly as several tries get it: between two readings of nanotime that
// lie as close together as they do.
func readBoth() (now int64, counter uint64) {
	least := int64(1) << 62
	for range 16 {
		first := Now()
		c := readCounter()
		last := Now()
		if last-first < least {
			least, now, counter = last-first, first+(last-first)/2, c
		}
	}
	return now, counter
}

// Start sets the clock by nanotime and returns the time. It comes before now, and again from time to time: what the
// calibration is wrong by, a few parts in a million, then does not add up.
//
//go:nosplit
func (c *Clock) Start() int64 {
	c.base = Now()
	if c.perTick != 0 {
		c.counter = readCounter()
	}
	return c.base
}

// Time is the time, on nanotime's scale.
//
//go:nosplit
func (c *Clock) Time() int64 { return c.At(c.Read()) }

// Read reads the clock in its own ticks.
//
//go:nosplit
func (c *Clock) Read() uint64 {
	if c.perTick == 0 {
		return uint64(Now())
	}
	return readCounter()
}

// At is the time of a reading since start, on nanotime's scale.
//
//go:nosplit
func (c *Clock) At(tick uint64) int64 {
	if c.perTick == 0 {
		return int64(tick)
	}
	high, low := bits.Mul64(tick-c.counter, c.perTick)
	return c.base + int64(high<<32|low>>32)
}

// Ticks is what the clock will read at a time, to within some nanoseconds; a time before start is start.
//
//go:nosplit
func (c *Clock) Ticks(ns int64) uint64 {
	if c.perTick == 0 {
		return uint64(ns)
	}
	return c.counter + uint64(float64(max(ns-c.base, 0))*(1<<32)/float64(c.perTick))
}

// Counting says whether the processor's counter is read.
//
//go:nosplit
func (c *Clock) Counting() bool { return c.perTick != 0 }

// Name says what is read, for the facts.
func (c *Clock) Name() string {
	if c.perTick == 0 {
		return "monotonic"
	}
	return "time stamp counter"
}
