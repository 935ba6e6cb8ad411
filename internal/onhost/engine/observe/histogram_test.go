package observe

import (
	"math"
	"slices"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/result"
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
		ours, theirs := NewHistogram(), hdrhistogram.New(hdr.Lowest, hdr.Highest, hdr.Digits)
		recorded := times(t, "times")
		for i, v := range recorded {
			v = min(v, hdr.Highest)
			recorded[i] = v
			ours.Record(v)
			if err := theirs.RecordValue(v); err != nil {
				t.Fatalf("hdrhistogram-go does not take %d: %v", v, err)
			}
		}
		exported := theirs.Export()
		if len(exported.Counts) != hdr.Slots {
			t.Fatalf("hdrhistogram-go has %d counts, we have %d", len(exported.Counts), hdr.Slots)
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
	if h.min != 0 || h.max != hdr.Highest || h.Count() != 3 {
		t.Errorf("min %d, max %d, count %d", h.min, h.max, h.Count())
	}
}

func TestHistogramMetrics(t *testing.T) {
	h := NewHistogram()
	for i := int64(1); i <= 1000; i++ {
		h.Record(i * 1000)
	}
	got := map[string]float64{}
	for _, m := range h.Metrics(result.RTT) {
		if m.Name != result.RTT || m.Unit != result.Seconds {
			t.Errorf("metric %+v", m)
		}
		got[m.Stat] = m.Value
	}
	// The mean and the extremes are exact; the rest is to 3 digits.
	for stat, want := range map[string]float64{"mean": 500.5e-6, "min": 1e-6, "max": 1000e-6, "p50": 500e-6,
		"p90": 900e-6, "p99": 990e-6, "stddev": 288.675e-6} {
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

// TestCensored: the missing times are longer than a bound. Only statistics that they cannot change are given.
func TestCensored(t *testing.T) {
	h := NewHistogram()
	for i := int64(1); i <= 900; i++ {
		h.Record(i * 1000)
	}
	stats := func(missing, least int64) map[string]float64 {
		got := map[string]float64{}
		for _, m := range h.Censored(result.ResponseTime, missing, least) {
			got[m.Stat] = m.Value
		}
		return got
	}
	if got := stats(0, 0); len(got) != 6 { // mean stddev min p50 p90 max; 900 do not support p99
		t.Error(got)
	}
	got := stats(100, 1e9) // 1000 in all: p50 is the 500th, p90 the 900th, p99 is missing
	if len(got) != 3 || math.Abs(got["p50"]-500e-6) > 1e-6 || math.Abs(got["p90"]-900e-6) > 1e-6 || got["min"] != 1e-6 {
		t.Error(got)
	}
	if got := stats(100, 600_000); len(got) != 2 || got["p90"] != 0 { // the missing could be below the 900th
		t.Error(got)
	}
	if got := stats(100_000, 1e9); len(got) != 1 || got["min"] != 1e-6 {
		t.Error(got)
	}
}
