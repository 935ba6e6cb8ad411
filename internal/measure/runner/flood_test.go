package runner

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestFloodEndsTheTrial: a program that prints without end is ended, its trial fails with that reason, and little of it
// is held in memory and kept.
func TestFloodEndsTheTrial(t *testing.T) {
	k := &kept{raw: map[string]string{}}
	e := twoArms(1)
	block := bytes.Repeat([]byte("x"), 1<<20)
	var printed atomic.Int64
	s := &scene{client: func(ctx context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
		for ctx.Err() == nil {
			_, _ = stdout.Write(block)
			printed.Add(int64(len(block)))
		}
		return 1
	}}
	r := New(e, tools{chatty{}}, s.hosts(e), DefaultLimits(), nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	if err := r.Run(context.Background(), k, nil); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	size := 0
	for _, data := range k.raw {
		size += len(data)
	}
	t.Logf("%v, %d MB printed, %d bytes kept, %d MB allocated in all", took.Round(time.Millisecond),
		printed.Load()>>20, size, (after.TotalAlloc-before.TotalAlloc)>>20)
	if len(k.trials) != 2 {
		t.Fatalf("%d trials", len(k.trials))
	}
	for _, trial := range k.trials {
		if !strings.Contains(trial.Error, "bytes more than the 16777216 that are kept") ||
			!strings.Contains(trial.Error, "it printed more than 16 MiB, and was ended") || len(trial.Metrics) > 0 {
			t.Errorf("the trial: %q with %d metrics", trial.Error, len(trial.Metrics))
		}
	}
	if size == 0 || size > 8*floodKept {
		t.Errorf("%d bytes are kept of two trials", size)
	}
	if limit := DefaultLimits().Patience; took > limit {
		t.Errorf("it took %v: the flood was ended by the limit of the trial", took)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 300 {
		t.Errorf("%d MB were allocated", allocated)
	}
}

// TestFloodIsNoInterrupt: hosts wait for the end of what a flood ended, and only after an interrupt do not.
func TestFloodIsNoInterrupt(t *testing.T) {
	out := newOutputs()
	ctx, stop := untilFlooded(t.Context(), job{out: out}, nil)
	defer stop()
	_, _ = out.serverStderr.Write(make([]byte, outputLimit+1))
	<-ctx.Done()
	if cause := context.Cause(ctx); cause != errFlooded { //nolint:errorlint // the very error
		t.Errorf("the cause is %v", cause)
	}
}
