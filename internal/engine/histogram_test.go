package engine

import (
	"math"
	"slices"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"nearfar/internal/result"
)

// times draws times of all magnitudes.
func times(t *rapid.T, label string) []int64 {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Range(0, 1<<rapid.IntRange(0, 37).Draw(t, "magnitude")).Draw(t, "time")
	}), 1, 300).Draw(t, label)
}

// TestHistogramIsHdrHistogram compares the counts with hdrhistogram-go, and what it reads from our encoding; and the
// percentiles with the sorted observations.
func TestHistogramIsHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours, theirs := NewHistogram(), hdrhistogram.New(histogramLowest, histogramHighest, histogramDigits)
		recorded := times(t, "times")
		for i, v := range recorded {
			v = min(v, histogramHighest)
			recorded[i] = v
			ours.Record(v)
			if err := theirs.RecordValue(v); err != nil {
				t.Fatalf("hdrhistogram-go does not take %d: %v", v, err)
			}
		}
		exported := theirs.Export()
		if len(exported.Counts) != histogramLen {
			t.Fatalf("hdrhistogram-go has %d counts, we have %d", len(exported.Counts), histogramLen)
		}
		for i, n := range exported.Counts {
			if ours.counts[i] != n {
				t.Fatalf("count %d is %d, not %d", i, ours.counts[i], n)
			}
		}
		slices.Sort(recorded)
		for _, p := range []int{1, 50, 90, 99, 100} {
			rank := max((p*len(recorded)+99)/100, 1)
			got, want := ours.Percentile(float64(p)), recorded[rank-1]
			if !theirs.ValuesAreEquivalent(got, want) || got < want {
				t.Fatalf("p%v is %d, not %d", p, got, want)
			}
		}
		encoded, err := ours.Encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := hdrhistogram.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !decoded.Equals(theirs) {
			t.Fatal("what hdrhistogram-go decodes is not what was recorded")
		}
	})
}

func TestHistogramMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, both := NewHistogram(), NewHistogram(), NewHistogram()
		for _, v := range times(t, "a") {
			a.Record(v)
			both.Record(v)
		}
		for _, v := range times(t, "b") {
			b.Record(v)
			both.Record(v)
		}
		a.Merge(b)
		if *a != *both {
			t.Fatal("merging is not recording both")
		}
		b.Reset()
		if *b != *NewHistogram() {
			t.Fatal("a reset histogram is not empty")
		}
		a.Merge(b)
		if *a != *both {
			t.Fatal("merging an empty histogram changes something")
		}
	})
}

func TestHistogramBounds(t *testing.T) {
	h := NewHistogram()
	for _, v := range []int64{-5, 0, math.MaxInt64} {
		h.Record(v)
	}
	if h.min != 0 || h.max != histogramHighest || h.Count() != 3 {
		t.Errorf("min %d, max %d, count %d", h.min, h.max, h.Count())
	}
}

func TestHistogramMetrics(t *testing.T) {
	h := NewHistogram()
	for i := int64(1); i <= 1000; i++ {
		h.Record(i * 1000)
	}
	got := map[string]float64{}
	for _, m := range h.metrics(result.RTT) {
		if m.Name != result.RTT || m.Unit != result.Seconds {
			t.Errorf("metric %+v", m)
		}
		got[m.Stat] = m.Value
	}
	// The mean and the extremes are exact; the rest is to 3 digits.
	for stat, want := range map[string]float64{"mean": 500.5e-6, "min": 1e-6, "max": 1000e-6, "p50": 500e-6, "p90": 900e-6, "p99": 990e-6, "stddev": 288.675e-6} {
		if math.Abs(got[stat]-want) > want/1000 {
			t.Errorf("%s is %v, not %v", stat, got[stat], want)
		}
		delete(got, stat)
	}
	if len(got) != 0 {
		t.Errorf("1000 observations do not support %v", got)
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	h := NewHistogram()
	v := int64(1)
	if n := testing.AllocsPerRun(1000, func() { h.Record(v); v += 977 }); n != 0 {
		t.Errorf("recording allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	b.ReportAllocs()
	h := NewHistogram()
	v := int64(8000)
	for b.Loop() {
		h.Record(v)
		v = v*1103515245%100_000 + 4000
	}
}

func BenchmarkMergeThousand(b *testing.B) {
	b.ReportAllocs()
	from, into := NewHistogram(), NewHistogram()
	for v := int64(1000); v < 100_000_000; v += 7777 {
		from.Record(v)
	}
	for b.Loop() {
		for range 1000 {
			into.Merge(from)
		}
	}
}
