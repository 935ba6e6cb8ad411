package lab

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// wireCounts is written by the forwarding thread and read by another.
type wireCounts struct {
	packets, lost, dropped, rejected atomic.Uint64
	max, recentMax                   atomic.Int64
	lateness                         [64 * subBuckets]atomic.Uint64

	// mark is the state at the last call of since; only the thread that answers requests uses it.
	mark tally
}

// A tally is a copy of the counters.
type tally struct {
	packets, lost, dropped, rejected uint64
	max                              int64
	lateness                         [64 * subBuckets]uint64
}

// subBuckets divide each power of two of the lateness histogram, for a resolution of 6 %.
const subBuckets = 16

// forwarded counts a frame that left late, in nanoseconds.
func (c *wireCounts) forwarded(late int64) {
	c.packets.Add(1)
	c.lateness[bucketOf(uint64(max(late, 0)))].Add(1)
	if late > c.max.Load() {
		c.max.Store(late)
	}
	if late > c.recentMax.Load() {
		c.recentMax.Store(late)
	}
}

// now reads the counters.
func (c *wireCounts) now() *tally {
	t := &tally{
		packets: c.packets.Load(), lost: c.lost.Load(), dropped: c.dropped.Load(), rejected: c.rejected.Load(),
		max: c.max.Load(),
	}
	for i := range c.lateness {
		t.lateness[i] = c.lateness[i].Load()
	}
	return t
}

// bucketOf is the histogram's bucket of a value, bucketTop the highest value of a bucket.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 5 // v>>shift lies in [16, 32)
	return (shift+1)*subBuckets + int(v>>shift) - subBuckets
}

func bucketTop(b int) uint64 {
	if b < subBuckets {
		return uint64(b)
	}
	shift := b/subBuckets - 1
	return (uint64(b%subBuckets+subBuckets)+1)<<shift - 1
}

// stats summarises the counts since the start. Percentiles are upper bounds of their buckets.
func (c *wireCounts) stats() WireStats { return c.now().stats() }

// since summarises the counts since it was last called.
func (c *wireCounts) since() WireStats {
	now := c.now()
	recent := tally{
		packets: now.packets - c.mark.packets, lost: now.lost - c.mark.lost,
		dropped: now.dropped - c.mark.dropped, rejected: now.rejected - c.mark.rejected,
		max: c.recentMax.Swap(0), // may miss a packet that leaves at this moment
	}
	for i, n := range now.lateness {
		recent.lateness[i] = n - c.mark.lateness[i]
	}
	c.mark = *now
	return recent.stats()
}

func (t *tally) stats() WireStats {
	s := WireStats{
		Base: wireBase, Packets: t.packets, Lost: t.lost, Dropped: t.dropped, Rejected: t.rejected,
		LatenessMax: time.Duration(t.max),
	}
	var total, sum uint64
	for _, n := range t.lateness {
		total += n
	}
	for i, n := range t.lateness {
		if n == 0 {
			continue
		}
		top := min(time.Duration(bucketTop(i)), s.LatenessMax)
		if 2*sum < total {
			s.LatenessP50 = top
		}
		if 100*sum < 99*total {
			s.LatenessP99 = top
		}
		sum += n
	}
	return s
}
