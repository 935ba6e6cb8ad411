// Package timing has the clock that the hot loops read, the times at which requests are due, and sleeping. Unless
// stated otherwise, times are nanoseconds of the runtime's monotonic clock.
package timing

import (
	"math/bits"
	"time"
	_ "unsafe" // for go:linkname
)

// Now is the runtime's monotonic clock in nanoseconds: one vDSO call. time.Since reads the same clock, but it checks
// its stack, and the scheduler may preempt the goroutine there. Now does not, so a hot loop that calls it is not
// interrupted.
//
//go:linkname Now runtime.nanotime
func Now() int64

// Clock is Now for a hot loop. If the kernel itself keeps time by the processor's time stamp counter, Clock reads the
// counter directly. On a CPU that has just run another process, the vDSO's code and data are not in the caches; its
// call then takes about 80 ns of each transaction.
type Clock struct {
	base    int64  // nanotime when the counter stood at counter
	counter uint64 // where the counter stood
	// perTick is nanoseconds per tick of the counter, times 2^32; 0 if Now is read instead.
	perTick uint64
}

// calibration is how long the counter is compared with Now. Both are read to within about 50 ns, so a microsecond is
// right to a hundredth of a nanosecond.
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

// readBoth reads Now and the counter at almost the same moment. Each of several tries reads the counter between two
// readings of Now. The try with the shortest time between these two readings counts.
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

// Start sets the clock by Now and returns the time. Call it before any other method, and again from time to time, so
// that the calibration's error of a few parts per million does not add up.
//
//go:nosplit
func (c *Clock) Start() int64 {
	c.base = Now()
	if c.perTick != 0 {
		c.counter = readCounter()
	}
	return c.base
}

// Time is the time on the scale of Now.
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

// At is the time of a reading since Start, on the scale of Now.
//
//go:nosplit
func (c *Clock) At(tick uint64) int64 {
	if c.perTick == 0 {
		return int64(tick)
	}
	high, low := bits.Mul64(tick-c.counter, c.perTick)
	return c.base + int64(high<<32|low>>32)
}

// Ticks is what the clock will read at a time, to within some nanoseconds. For a time before Start it is the reading
// at Start.
//
//go:nosplit
func (c *Clock) Ticks(ns int64) uint64 {
	if c.perTick == 0 {
		return uint64(ns)
	}
	return c.counter + uint64(float64(max(ns-c.base, 0))*(1<<32)/float64(c.perTick))
}

// Counting says whether the clock reads the processor's counter.
//
//go:nosplit
func (c *Clock) Counting() bool { return c.perTick != 0 }

// Name says what the clock reads, for the facts.
func (c *Clock) Name() string {
	if c.perTick == 0 {
		return "monotonic"
	}
	return "time stamp counter"
}
