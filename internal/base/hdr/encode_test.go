package hdr

import (
	"slices"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// drawn draws the counts of some values of all magnitudes.
func drawn(t *rapid.T) (counts []int64, values []int64) {
	counts = make([]int64, Slots)
	last := -1
	for range rapid.IntRange(0, 200).Draw(t, "values") {
		v := min(rapid.Int64Range(0, 1<<rapid.IntRange(0, 37).Draw(t, "magnitude")).Draw(t, "value"), Highest)
		counts[SlotOf(v)]++
		last = max(last, int(SlotOf(v)))
		values = append(values, v)
	}
	return counts[:last+1], values
}

// TestEncodeIsRead: the decoder here and HdrHistogram's library read back what was encoded.
func TestEncodeIsRead(t *testing.T) {
	var e Encoder
	rapid.Check(t, func(t *rapid.T) {
		counts, values := drawn(t)
		library := hdrhistogram.New(Lowest, Highest, Digits)
		for _, v := range values {
			if err := library.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		data, err := e.Encode(counts)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := hdrhistogram.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if !theirs.Equals(library) {
			t.Fatal("the library reads something else")
		}
		ours, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		back := make([]int64, len(counts))
		for i, slot := range ours.at {
			back[slot] = ours.counts[i]
		}
		if !slices.Equal(back, counts) || ours.Total() != int64(len(values)) {
			t.Fatalf("%d values came back as %d", len(values), ours.Total())
		}
	})
}

// TestWrittenLayout: the layout that is written is the general one with its header's values.
func TestWrittenLayout(t *testing.T) {
	g := geometry{half: writtenHalf}
	for slot := range Slots {
		if HighestIn(slot) != g.highest(slot) || int(SlotOf(HighestIn(slot))) != slot ||
			g.slot(HighestIn(slot)) != slot {
			t.Fatalf("slot %d holds up to %d, which belongs to slot %d", slot, HighestIn(slot), SlotOf(HighestIn(slot)))
		}
	}
	if SlotOf(Highest) >= Slots {
		t.Errorf("%d belongs to slot %d of %d", int64(Highest), SlotOf(Highest), Slots)
	}
}

// TestEncoderKeepsItsMemory: a histogram takes no more memory than the one before it.
func TestEncoderKeepsItsMemory(t *testing.T) {
	var e Encoder
	counts := make([]int64, Slots)
	for v := int64(1); v < 1e10; v += v/3 + 1 {
		counts[SlotOf(v)]++
	}
	var failed error
	n := testing.AllocsPerRun(100, func() {
		if _, err := e.Encode(counts); err != nil {
			failed = err
		}
	})
	if n > 0 || failed != nil {
		t.Errorf("encoding again allocates %v times: %v", n, failed)
	}
}
