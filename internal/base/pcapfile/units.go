package pcapfile

import (
	"math"
	"math/bits"
)

// units are the units of time stamps: 10 to the power of -exponent seconds, or 2 to that power.
type units struct {
	binary   bool
	exponent uint8
}

// The largest exponents: 10^19 is the largest power of ten that 64 bits hold.
const (
	maxDecimal = 19
	maxBinary  = 63
)

// seconds is the length of a unit.
func (u units) seconds() float64 {
	if u.binary {
		return math.Ldexp(1, -int(u.exponent))
	}
	return math.Pow10(-int(u.exponent))
}

// perSecond is how many units a second has.
func (u units) perSecond() uint64 {
	if u.binary {
		return 1 << u.exponent
	}
	n := uint64(1)
	for range u.exponent {
		n *= 10
	}
	return n
}

// nanoseconds converts a time stamp, rounded down; false beyond the year 2262, which 64 bits cannot hold.
func (u units) nanoseconds(stamp uint64, offset int64) (int64, bool) {
	per := u.perSecond()
	seconds, rest := stamp/per, stamp%per
	const most = math.MaxInt64/1_000_000_000 - 1
	if seconds > most || offset > most || offset < -most {
		return 0, false
	}
	total := int64(seconds) + offset
	if total > most || total < -most {
		return 0, false
	}
	high, low := bits.Mul64(rest, 1_000_000_000)
	nano, _ := bits.Div64(high, low, per) // rest < per: the quotient is less than 10^9
	return total*1_000_000_000 + int64(nano), true
}
