package hdr

import (
	"fmt"
	"math"
)

// Pool adds histograms up. The zero value is empty.
type Pool struct {
	sum   Histogram
	spare Histogram
	begun bool
}

// Add adds a histogram. If its slots differ from those of the first histogram, each value counts as the largest value
// of its slot. The error says that the pool would have too many slots.
func (p *Pool) Add(h *Histogram) error {
	if !p.begun {
		p.begun, p.sum.geometry = true, h.geometry
	}
	into := &p.spare
	into.at, into.counts = into.at[:0], into.counts[:0]
	i, j := 0, 0
	for i < len(p.sum.at) || j < len(h.at) {
		next := int32(math.MaxInt32)
		if i < len(p.sum.at) {
			next = p.sum.at[i]
		}
		if j < len(h.at) {
			next = min(next, p.place(h, j))
		}
		var n int64
		if i < len(p.sum.at) && p.sum.at[i] == next {
			n += p.sum.counts[i]
			i++
		}
		for ; j < len(h.at) && p.place(h, j) == next; j++ {
			n += h.counts[j]
		}
		if len(into.at) == maxPooled {
			return fmt.Errorf("the histograms hold values in more than %d slots together", maxPooled)
		}
		into.at, into.counts = append(into.at, next), append(into.counts, n)
	}
	into.geometry, into.total = p.sum.geometry, p.sum.total+h.total
	p.sum, p.spare = *into, p.sum
	return nil
}

// place gives the slot of the pool for the jth filled slot of a histogram. It increases with j.
func (p *Pool) place(h *Histogram, j int) int32 {
	if p.sum.geometry == h.geometry {
		return h.at[j]
	}
	return int32(min(p.sum.slot(h.highest(int(h.at[j]))), math.MaxInt32-1))
}

// Histogram gives the sum. It is valid until the next Add.
func (p *Pool) Histogram() *Histogram { return &p.sum }

// Farthest gives the value at which the cumulative distributions of two histograms differ most, and by how much: the
// share of arm up to this value, minus the share of baseline (the Kolmogorov-Smirnov distance, with a sign).
func Farthest(arm, baseline *Histogram) (share float64, at int64) {
	var i, j int
	var a, b int64
	for i < len(arm.at) || j < len(baseline.at) {
		next := int64(math.MaxInt64)
		if i < len(arm.at) {
			next = arm.highest(int(arm.at[i]))
		}
		if j < len(baseline.at) {
			next = min(next, baseline.highest(int(baseline.at[j])))
		}
		for ; i < len(arm.at) && arm.highest(int(arm.at[i])) <= next; i++ {
			a += arm.counts[i]
		}
		for ; j < len(baseline.at) && baseline.highest(int(baseline.at[j])) <= next; j++ {
			b += baseline.counts[j]
		}
		if d := float64(a)/float64(arm.total) - float64(b)/float64(baseline.total); math.Abs(d) > math.Abs(share) {
			share, at = d, next
		}
	}
	return share, at
}
