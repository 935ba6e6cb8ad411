package observe

import (
	"math"
	"math/bits"

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
	// samples takes every time that is observed, where it is not nil.
	Samples *Ring
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
	first, last := indexOf(from.min), indexOf(from.max)
	add(h.counts[first:last+1], from.counts[first:last+1])
	h.count += from.count
	h.sum += from.sum
	h.min = min(h.min, from.min)
	h.max = max(h.max, from.max)
}

// add adds counts to counts, eight at a time: so the loop is bound by memory.
func add(to, from []int64) {
	to = to[:len(from)]
	for len(from) >= 8 {
		t, f := (*[8]int64)(to), (*[8]int64)(from)
		t[0] += f[0]
		t[1] += f[1]
		t[2] += f[2]
		t[3] += f[3]
		t[4] += f[4]
		t[5] += f[5]
		t[6] += f[6]
		t[7] += f[7]
		to, from = to[8:], from[8:]
	}
	for i, n := range from {
		to[i] += n
	}
}

// Observe counts the time of a request that left at start and was answered at now.
//
//go:nosplit
func (h *Histogram) Observe(start, now int64) {
	h.Record(now - start)
	if h.Samples != nil {
		h.Samples.add(start, start, now)
	}
}

// Respond counts the time since a request was intended, which left at actual and was answered at now.
//
//go:nosplit
func (h *Histogram) Respond(intended, actual, now int64) {
	h.Record(now - intended)
	if h.Samples != nil {
		h.Samples.add(intended, actual, now)
	}
}

// Lose notes a request that left at start and had no reply.
//
//go:nosplit
func (h *Histogram) Lose(start int64) {
	if h.Samples != nil {
		h.Samples.add(start, start, 0)
	}
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
	return h.atRank(max(int64(math.Ceil(p/100*float64(h.count)-1e-9)), 1))
}

// atRank gives the time in nanoseconds of which so many recorded ones are not longer, as Percentile does.
func (h *Histogram) atRank(rank int64) int64 {
	var seen int64
	for i := int(indexOf(h.min)); i < histogramLen; i++ {
		seen += h.counts[i]
		if seen >= rank {
			return min(highestAt(i), h.max)
		}
	}
	return h.max
}

// Mean and stddev are in nanoseconds. The mean is exact, the deviation that of the slots' middles.
func (h *Histogram) Mean() float64 { return float64(h.sum) / float64(h.count) }

func (h *Histogram) stddev() float64 {
	mean := h.Mean()
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
	var e encoder
	return e.encode(h)
}

// Metrics gives the statistics of the recorded times under the given name, in seconds. Percentiles that the count does
// not support are left out.
func (h *Histogram) Metrics(name string) []result.Metric {
	if h.count == 0 {
		return nil
	}
	seconds := func(stat string, ns float64) result.Metric {
		return result.Metric{Name: name, Stat: stat, Unit: result.Seconds, Value: ns / 1e9}
	}
	m := []result.Metric{
		seconds(result.Mean, h.Mean()),
		seconds(result.Stddev, h.stddev()),
		seconds(result.Min, float64(h.min)),
	}
	for _, p := range Percentiles() {
		if result.SupportsPercentile(h.count, p) {
			m = append(m, seconds(result.PercentileStat(p), float64(h.Percentile(p))))
		}
	}
	return append(m, seconds(result.Max, float64(h.max)))
}

// Percentiles are those that a result has, where the count supports them.
func Percentiles() []float64 { return []float64{50, 90, 99, 99.9, 99.99, 99.999} }

// touch64 writes to every page of fresh memory, so that no page fault happens while measuring.
func touch64(words []int64) {
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
		words[i] = 0
	}
}

// Censored gives the statistics of the recorded times together with more that are missing, of which it is only known that
// each is at least so many nanoseconds. What the missing ones could change is left out.
func (h *Histogram) Censored(name string, missing, least int64) []result.Metric {
	if missing == 0 {
		return h.Metrics(name)
	}
	var kept []result.Metric
	if h.count == 0 {
		return nil
	}
	for _, m := range h.Metrics(name) {
		if m.Stat == result.Min && h.min <= least {
			kept = append(kept, m)
		}
	}
	all := h.count + missing
	for _, p := range Percentiles() {
		rank := int64(math.Ceil(p/100*float64(all) - 1e-9))
		if rank > h.count || !result.SupportsPercentile(all, p) {
			break
		}
		if v := h.atRank(rank); v <= least {
			kept = append(kept, result.Metric{Name: name, Stat: result.PercentileStat(p), Unit: result.Seconds, Value: float64(v) / 1e9})
		}
	}
	return kept
}
