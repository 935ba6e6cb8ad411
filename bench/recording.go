package main

import (
	"errors"
	"math"
	mathrand "math/rand/v2"
	"runtime"
	"time"

	"nearfar/internal/engine"
	"nearfar/internal/result"
)

// What recording costs is measured in this process: it is the code alone, without a network.

const (
	recordingName = "recording"
	// The metrics of it, beside the canonical ones.
	recordTime        = "record_time"
	recordAllocations = "record_allocations"
	mergeTime         = "merge_time"

	recordings = 20_000_000
	// mergedHistograms is how many are merged into one.
	mergedHistograms = 1000
)

// recordingProofs is what one observation and what merging costs.
func recordingProofs() group {
	one := func(what, name, unit string, bound *span) proof {
		return proof{What: what, With: "the engine's histogram", Workloads: []string{recordingName}, Value: metric(recordingName, name, ""), Unit: unit, Bound: bound}
	}
	return group{Local: &local{Name: recordingName, Measure: measureRecording}, Proofs: []proof{
		one("recording one observation: time", recordTime, result.Seconds, upTo(15e-9)),
		one("recording one observation: allocations", recordAllocations, result.One, exactly(0)),
		one("merging 1,000 histograms: time", mergeTime, result.Seconds, upTo(50e-3)),
	}}
}

// times draws times as round trips have them, in nanoseconds: around a median, with a tail.
func times(n int) []int64 {
	random := mathrand.New(mathrand.NewPCG(1, 2))
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(20e3 * math.Exp(random.NormFloat64()))
	}
	return values
}

// measureRecording records many observations into one histogram, and merges a thousand histograms that hold some each.
// The histograms are all different memory, as they are where a thousand runs or hosts are put together.
func measureRecording() ([]result.Metric, error) {
	values := times(1 << 12)
	h := engine.NewHistogram()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for i := range recordings {
		h.Record(values[i&(len(values)-1)])
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if h.Count() != recordings {
		return nil, errors.New("the histogram lost observations")
	}
	parts := make([]*engine.Histogram, mergedHistograms)
	for i := range parts {
		parts[i] = engine.NewHistogram()
		for _, v := range values {
			parts[i].Record(v)
		}
	}
	whole := engine.NewHistogram()
	start = time.Now()
	for _, part := range parts {
		whole.Merge(part)
	}
	merged := time.Since(start)
	if whole.Count() != int64(len(parts)*len(values)) {
		return nil, errors.New("the merged histogram lost observations")
	}
	return []result.Metric{
		{Name: recordTime, Unit: result.Seconds, Value: took.Seconds() / recordings},
		// The whole part, as testing.AllocsPerRun has it: other goroutines of this process allocate now and then.
		{Name: recordAllocations, Unit: result.One, Value: float64((after.Mallocs - before.Mallocs) / recordings)},
		{Name: mergeTime, Unit: result.Seconds, Value: merged.Seconds()},
	}, nil
}

// localTrial makes the record of what was measured in this process.
func localTrial(l local, block int) result.Trial {
	t := result.Trial{Block: block, Arm: armName, Workload: l.Name, Tool: result.ToolVersion{Name: "native", Version: engine.Version()},
		Started: time.Now().UTC(), ReportedAs: result.DefinitionNone, Definition: result.DefinitionNone,
		Metrics: []result.Metric{}}
	metrics, err := l.Measure()
	if err != nil {
		t.Error = err.Error()
		return t
	}
	t.Metrics, t.DurationSeconds = metrics, time.Since(t.Started).Seconds()
	return t
}
