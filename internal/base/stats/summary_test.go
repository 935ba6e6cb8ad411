package stats

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// TestSummarizeAgainstReference compares with numpy's mean, std(ddof=1) and quantile of the same values.
func TestSummarizeAgainstReference(t *testing.T) {
	s := Summarize([]float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, math.NaN(), math.Inf(-1)})
	if s.Count != 10 || !near(s.Mean.Value, 3.9) || !near(s.Stddev.Value, 2.4698178070456938) ||
		s.Median.Value != 3.5 || s.Min.Value != 1 || s.Max.Value != 9 || s.Interval != (Interval{1, 6, true}) {
		t.Errorf("%+v", s)
	}
	for p, want := range map[float64]float64{0: 1, 0.1: 1, 0.25: 2.25, 0.9: 6.3, 1: 9} {
		if got := s.Quantile(p); !near(got.Value, want) {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
	if s.Quantile(-0.1).Known || s.Quantile(math.NaN()).Known {
		t.Error("there is no such quantile")
	}
}

func TestSummarizeFew(t *testing.T) {
	if s := Summarize(nil); s.Count != 0 || s.Median.Known || s.Mean.Known || s.Interval.Known ||
		s.Quantile(0.5).Known {
		t.Errorf("of nothing: %+v", s)
	}
	if s := Summarize([]float64{7}); s.Median.Value != 7 || s.Stddev.Known || s.Interval.Known ||
		s.Quantile(0.9).Value != 7 {
		t.Errorf("of one: %+v", s)
	}
	if s := Summarize([]float64{1, 2, 3, 4, 5}); s.Interval.Known {
		t.Errorf("five have no interval: %+v", s)
	}
	// With six values, the interval from the smallest to the largest misses the median with probability 2/64.
	if s := Summarize([]float64{1, 2, 3, 4, 5, 6}); s.Interval != (Interval{1, 6, true}) {
		t.Errorf("%+v", s)
	}
}

func TestSummarizeAgainstGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 2, 50).Draw(t, "values")
		s := Summarize(values)
		mean, stddev := stat.MeanStdDev(values, nil)
		if math.Abs(s.Mean.Value-mean) > 1e-6 || math.Abs(s.Stddev.Value-stddev) > 1e-6 {
			t.Fatalf("%+v, want %v and %v", s, mean, stddev)
		}
		if s.Min.Value != slices.Min(values) || s.Max.Value != slices.Max(values) ||
			math.Abs(s.Quantile(0.5).Value-s.Median.Value) > 1e-6 {
			t.Fatalf("%+v", s)
		}
	})
}
