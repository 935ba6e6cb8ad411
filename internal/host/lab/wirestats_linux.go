package lab

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// wireCounts is counted by the forwarding thread and read by another.
type wireCounts struct {
	packets, lost, dropped, rejected atomic.Uint64
	max                              atomic.Int64
	lateness                         [64 * subBuckets]atomic.Uint64
}

// subBuckets divide each power of two of the lateness histogram, for a resolution of 6 %.
const subBuckets = 16

// forwarded counts a frame that left so many nanoseconds after it was due.
func (c *wireCounts) forwarded(late int64) {
	c.packets.Add(1)
	c.lateness[bucketOf(uint64(max(late, 0)))].Add(1)
	if late > c.max.Load() {
		c.max.Store(late)
	}
}

// bucketOf gives the histogram's bucket of a value, bucketTop the highest value of a bucket.
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

// stats summarises. Percentiles are upper bounds of their bucket.
func (c *wireCounts) stats() WireStats {
	s := WireStats{
		Base:    wireBase,
		Packets: c.packets.Load(), Lost: c.lost.Load(), Dropped: c.dropped.Load(), Rejected: c.rejected.Load(),
		LatenessMax: time.Duration(c.max.Load()),
	}
	var total, sum uint64
	counts := make([]uint64, len(c.lateness))
	for i := range c.lateness {
		counts[i] = c.lateness[i].Load()
		total += counts[i]
	}
	for i, n := range counts {
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
