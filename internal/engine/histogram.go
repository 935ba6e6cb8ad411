package engine

import (
	"fmt"
	"math"
	"math/bits"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/result"
)

// The geometry: 1 ns to 100 s with 3 significant digits, as HdrHistogram lays it out (unit magnitude 0, 2048
// sub-buckets, 27 buckets), so that the counts are those that other tools read.
const (
	histogramLowest  = 1
	histogramHighest = 100_000_000_000
	histogramDigits  = 3
	halfMagnitude    = 10
	subBucketMask    = 1<<(halfMagnitude+1) - 1
	histogramLen     = 28 << halfMagnitude
)

// A Histogram counts times in nanoseconds. It has one writer; its methods do not lock.
//
// It does what hdrhistogram-go does, at the price that a hot loop can pay: a fixed array, no error, exact sum, smallest
// and largest beside the counts.
type Histogram struct {
	counts   [histogramLen]int64
	count    int64
	sum      int64
	min, max int64
}

// NewHistogram returns an empty histogram whose memory has been touched.
func NewHistogram() *Histogram {
	h := &Histogram{min: math.MaxInt64}
	touch64(h.counts[:])
	return h
}

// Record counts one time in nanoseconds. A time beyond 100 s is counted as 100 s, a negative one as 0.
//
//go:nosplit
func (h *Histogram) Record(ns int64) {
	if ns < 0 {
		ns = 0
	}
	if ns > histogramHighest {
		ns = histogramHighest
	}
	h.counts[indexOf(ns)%histogramLen]++
	h.count++
	h.sum += ns
	if ns < h.min {
		h.min = ns
	}
	if ns > h.max {
		h.max = ns
	}
}

// indexOf gives the slot of a time: HdrHistogram's countsArrayIndex for this geometry.
//
//go:nosplit
func indexOf(ns int64) uint {
	bucket := uint(bits.Len64(uint64(ns)|subBucketMask)) - (halfMagnitude + 1)
	return bucket<<halfMagnitude + uint(uint64(ns)>>bucket)
}

// highestAt gives the largest time in nanoseconds that falls into the slot.
func highestAt(index int) int64 {
	bucket := index>>halfMagnitude - 1
	sub := index&(1<<halfMagnitude-1) + 1<<halfMagnitude
	if bucket < 0 {
		bucket, sub = 0, index
	}
	return int64(sub+1)<<bucket - 1
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(from *Histogram) {
	if from.count == 0 {
		return
	}
	for i := indexOf(from.min); i <= indexOf(from.max); i++ {
		h.counts[i] += from.counts[i]
	}
	h.count += from.count
	h.sum += from.sum
	h.min = min(h.min, from.min)
	h.max = max(h.max, from.max)
}

// Reset empties the histogram.
func (h *Histogram) Reset() {
	if h.count == 0 {
		return
	}
	clear(h.counts[indexOf(h.min) : indexOf(h.max)+1])
	h.count, h.sum, h.min, h.max = 0, 0, math.MaxInt64, 0
}

// Count is how many times were recorded.
func (h *Histogram) Count() int64 { return h.count }

// Percentile gives the time in nanoseconds that the given percentage of the recorded ones do not exceed, to 3
// significant digits: the value at percentile of HdrHistogram for Java, but never more than the largest recorded (the Go
// port rounds the rank where this takes the next one). 0 when empty.
func (h *Histogram) Percentile(p float64) int64 {
	if h.count == 0 {
		return 0
	}
	// The 1e-9 keeps binary fractions such as 99.9/100*1000 from asking for one more.
	rank := max(int64(math.Ceil(p/100*float64(h.count)-1e-9)), 1)
	var seen int64
	for i := int(indexOf(h.min)); i < histogramLen; i++ {
		seen += h.counts[i]
		if seen >= rank {
			return min(highestAt(i), h.max)
		}
	}
	return h.max
}

// mean and stddev are in nanoseconds. The mean is exact, the deviation that of the slots' middles.
func (h *Histogram) mean() float64 { return float64(h.sum) / float64(h.count) }

func (h *Histogram) stddev() float64 {
	mean := h.mean()
	var squares float64
	for i := indexOf(h.min); i <= indexOf(h.max); i++ {
		if n := h.counts[i]; n > 0 {
			high := highestAt(int(i))
			var low int64
			if i > 0 {
				low = highestAt(int(i)-1) + 1
			}
			d := float64(low+high)/2 - mean
			squares += d * d * float64(n)
		}
	}
	return math.Sqrt(squares / float64(h.count))
}

// Encode gives the HdrHistogram V2 compressed encoding in base64, in nanoseconds.
func (h *Histogram) Encode() ([]byte, error) {
	encoded, err := hdrhistogram.Import(&hdrhistogram.Snapshot{
		LowestTrackableValue:  histogramLowest,
		HighestTrackableValue: histogramHighest,
		SignificantFigures:    histogramDigits,
		Counts:                h.counts[:],
	}).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encoding the histogram: %w", err)
	}
	return encoded, nil
}

// metrics gives the statistics of the recorded times under the given name, in seconds. Percentiles that the count does
// not support are left out.
func (h *Histogram) metrics(name string) []result.Metric {
	if h.count == 0 {
		return nil
	}
	seconds := func(stat string, ns float64) result.Metric {
		return result.Metric{Name: name, Stat: stat, Unit: result.Seconds, Value: ns / 1e9}
	}
	m := []result.Metric{
		seconds(result.Mean, h.mean()),
		seconds(result.Stddev, h.stddev()),
		seconds(result.Min, float64(h.min)),
	}
	for _, p := range []float64{50, 90, 99, 99.9, 99.99, 99.999} {
		if result.SupportsPercentile(h.count, p) {
			m = append(m, seconds(result.PercentileStat(p), float64(h.Percentile(p))))
		}
	}
	return append(m, seconds(result.Max, float64(h.max)))
}

// touch64 writes to every page of fresh memory, so that no page fault happens while measuring.
func touch64(words []int64) {
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
		words[i] = 0
	}
}

// newBuffer returns a buffer that has been touched.
func newBuffer(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}
