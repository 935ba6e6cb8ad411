package observe

import (
	"io"
	"testing"

	"nearfar/internal/onhost/engine/samples"
)

// TestFilesDoNotAllocate: the hot thread's side of the samples and the histogram log. Nothing empties the ring, so it
// overflows, and the observations that do not fit are counted.
func TestFilesDoNotAllocate(t *testing.T) {
	ring, err := NewRing(io.Discard, samples.Header{})
	if err != nil {
		t.Fatal(err)
	}
	h, log := NewHistogram(), NewLog(io.Discard)
	h.Samples = ring
	const some = sampleSlots/1000 + 1
	if n := testing.AllocsPerRun(1000, func() {
		for range some {
			h.Observe(5, 10)
		}
		log.add(h, 5, 10)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := int64(1001*some - sampleSlots); ring.dropped != want {
		t.Errorf("%d observations dropped, not %d", ring.dropped, want)
	}
	ring.Start()
	if dropped, err := ring.Finish(nil); err != nil || dropped != ring.dropped || ring.read.Load() != sampleSlots {
		t.Errorf("%d dropped, %d written, %v", dropped, ring.read.Load(), err)
	}
}

func BenchmarkSample(b *testing.B) {
	ring, err := NewRing(io.Discard, samples.Header{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		ring.add(1, 2, 3)
		if ring.count%sampleSlots == 0 { // as if it had been written
			ring.read.Store(ring.count)
		}
	}
}
