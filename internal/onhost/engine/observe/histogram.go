package observe

import (
	"math"

	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/result"
)

// A Histogram counts times in nanoseconds. It has one writer, and its methods do not lock.
//
// Its buckets are those of hdrhistogram-go, but it is fast enough for a hot loop: a fixed array and no errors. It also
// keeps the exact sum, minimum and maximum.
type Histogram struct {
	counts   [hdr.Slots]int64
	count    int64
	sum      int64
	min, max int64
	// Samples receives every observed time, unless it is nil.
	Samples *Ring
}

// NewHistogram returns an empty histogram. Its memory has been written to, so that recording causes no page faults.
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
	if ns > hdr.Highest {
		ns = hdr.Highest
	}
	h.counts[hdr.SlotOf(ns)%hdr.Slots]++
	h.count++
	h.sum += ns
	if ns < h.min {
		h.min = ns
	}
	if ns > h.max {
		h.max = ns
	}
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(from *Histogram) {
	if from.count == 0 {
		return
	}
	first, last := hdr.SlotOf(from.min), hdr.SlotOf(from.max)
	add(h.counts[first:last+1], from.counts[first:last+1])
	h.count += from.count
	h.sum += from.sum
	h.min = min(h.min, from.min)
	h.max = max(h.max, from.max)
}

// add adds counts eight at a time, so that memory bandwidth limits the loop.
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

// Observe records the time from start, when a request left, to now, when its reply came.
//
//go:nosplit
func (h *Histogram) Observe(start, now int64) {
	h.Record(now - start)
	if h.Samples != nil {
		h.Samples.add(start, start, now)
	}
}

// Respond records the time from when a request was due to leave (intended) to its reply (now). The request left at
// actual.
//
//go:nosplit
func (h *Histogram) Respond(intended, actual, now int64) {
	h.Record(now - intended)
	if h.Samples != nil {
		h.Samples.add(intended, actual, now)
	}
}

// Lose notes a request that left at start and was never answered.
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
	clear(h.counts[hdr.SlotOf(h.min) : hdr.SlotOf(h.max)+1])
	h.count, h.sum, h.min, h.max = 0, 0, math.MaxInt64, 0
}

// Count is how many times were recorded.
func (h *Histogram) Count() int64 { return h.count }

// Percentile gives the time in nanoseconds that the given percentage of the recorded times do not exceed, to 3
// significant digits. It is the value at percentile of HdrHistogram for Java, but at most the largest recorded time.
// (The Go port rounds the rank; this takes the next larger one.) 0 if empty.
func (h *Histogram) Percentile(p float64) int64 {
	if h.count == 0 {
		return 0
	}
	return h.atRank(hdr.Rank(p, h.count))
}

// atRank gives the time at a rank, in nanoseconds, in the same way as Percentile.
func (h *Histogram) atRank(rank int64) int64 {
	var seen int64
	for i := int(hdr.SlotOf(h.min)); i < hdr.Slots; i++ {
		seen += h.counts[i]
		if seen >= rank {
			return min(hdr.HighestIn(i), h.max)
		}
	}
	return h.max
}

// Mean is the exact mean in nanoseconds. stddev is approximated from the midpoints of the slots.
func (h *Histogram) Mean() float64 { return float64(h.sum) / float64(h.count) }

func (h *Histogram) stddev() float64 {
	mean := h.Mean()
	var squares float64
	for i := hdr.SlotOf(h.min); i <= hdr.SlotOf(h.max); i++ {
		if n := h.counts[i]; n > 0 {
			high := hdr.HighestIn(int(i))
			var low int64
			if i > 0 {
				low = hdr.HighestIn(int(i)-1) + 1
			}
			d := float64(low+high)/2 - mean
			squares += d * d * float64(n)
		}
	}
	return math.Sqrt(squares / float64(h.count))
}

// filled are the counts up to the last one that is not 0.
func (h *Histogram) filled() []int64 {
	if h.count == 0 {
		return nil
	}
	return h.counts[:hdr.SlotOf(h.max)+1]
}

// Encode gives the HdrHistogram V2 compressed encoding in base64. Values are nanoseconds.
func (h *Histogram) Encode() ([]byte, error) {
	var e hdr.Encoder
	return e.Encode(h.filled())
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

// Percentiles are the percentiles that a result has, if the count supports them.
func Percentiles() []float64 { return []float64{50, 90, 99, 99.9, 99.99, 99.999} }

// touch64 writes to every page of fresh memory, so that there are no page faults while measuring.
func touch64(words []int64) {
	for i := 0; i < len(words); i += 512 {
		words[i] = 1
		words[i] = 0
	}
}

// Censored gives the statistics of the recorded times together with missing times, each of which is at least the given
// number of nanoseconds. It leaves out statistics that the missing times could change.
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
		rank := hdr.Rank(p, all)
		if rank > h.count || !result.SupportsPercentile(all, p) {
			break
		}
		if v := h.atRank(rank); v <= least {
			kept = append(kept, result.Metric{Name: name, Stat: result.PercentileStat(p), Unit: result.Seconds,
				Value: float64(v) / 1e9})
		}
	}
	return kept
}
