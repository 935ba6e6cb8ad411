package figures

import (
	"encoding/json"
	"math"

	"nearfar/internal/base/stats"
)

// Bounds are the ends of an interval. An end is infinite if so many trials lack the figure (see Missing) that the
// interval has no bound on that side; it is null in JSON.
type Bounds [2]float64

// Interval is a pair of bounds; null in JSON if there is none.
type Interval = *Bounds

// The values of the key "unbounded": on which side an interval has no bound.
const (
	UnboundedAbove = "above"
	UnboundedBelow = "below"
	UnboundedBoth  = "both"
)

// MarshalJSON writes [low, high], null for an infinite one.
func (b *Bounds) MarshalJSON() ([]byte, error) {
	var ends [2]*float64
	for i := range b {
		if !math.IsInf(b[i], 0) {
			ends[i] = &b[i]
		}
	}
	return json.Marshal(ends)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Bounds) UnmarshalJSON(data []byte) error {
	var ends [2]*float64
	if err := json.Unmarshal(data, &ends); err != nil {
		return err
	}
	*b = Bounds{math.Inf(-1), math.Inf(1)}
	for i, v := range ends {
		if v != nil {
			b[i] = *v
		}
	}
	return nil
}

// Unbounded says on which side the interval has no bound; empty if it has both, or if there is no interval.
func (b *Bounds) Unbounded() string {
	switch {
	case b == nil:
		return ""
	case math.IsInf(b[0], 0) && math.IsInf(b[1], 0):
		return UnboundedBoth
	case math.IsInf(b[0], 0):
		return UnboundedBelow
	case math.IsInf(b[1], 0):
		return UnboundedAbove
	}
	return ""
}

// Text writes the interval for people: "[+1.47, +2.13]", "[+1.47, unbounded]", or "none".
func (b *Bounds) Text(write func(float64) string) string {
	if b == nil {
		return "none"
	}
	var ends [2]string
	for i, v := range b {
		if ends[i] = "unbounded"; !math.IsInf(v, 0) {
			ends[i] = write(v)
		}
	}
	return "[" + ends[0] + ", " + ends[1] + "]"
}

// IntervalOf converts an interval; an unknown one becomes null.
func IntervalOf(i stats.Interval) Interval {
	if !i.Known {
		return nil
	}
	return &Bounds{i.Low, i.High}
}
