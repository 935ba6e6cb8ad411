package engine

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/samples"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// TestLoadFiles: the samples give the same distribution as the result, and HdrHistogram's reader reads the histograms.
func TestLoadFiles(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	load := enginetest.Load(wire.TCP, 3)
	rr, crr, udp := enginetest.RR(wire.TCP), enginetest.RR(wire.TCP), enginetest.RR(wire.UDP)
	crr.Mode = wire.ModeCRR
	load.Duration = 1200 * time.Millisecond
	for name, o := range map[string]session.RunOptions{
		"load": enginetest.LoadOptions(address, load, 1000),
		"rr":   {Server: address, Secret: enginetest.Secret, Params: rr},
		"crr":  {Server: address, Secret: enginetest.Secret, Params: crr},
		"udp":  {Server: address, Secret: enginetest.Secret, Params: udp},
	} {
		t.Run(name, func(t *testing.T) {
			var observations, log bytes.Buffer
			o.Samples, o.Histograms = &observations, &log
			r, err := Run(t.Context(), o, &collector{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := hdrhistogram.Decode([]byte(r.Histogram))
			if err != nil {
				t.Fatal(err)
			}
			checkSamples(t, &observations, o, want)
			checkHistograms(t, &log, o, want)
			if r.Facts["samples_dropped"] != "0" {
				t.Errorf("dropped: %s", r.Facts["samples_dropped"])
			}
		})
	}
	o := enginetest.LoadOptions(address, enginetest.Stream(1), 1)
	o.Load, o.Samples = session.Load{}, &bytes.Buffer{}
	if _, err := Run(t.Context(), o, &collector{}); err == nil {
		t.Error("a stream with samples")
	}
}

func checkSamples(t *testing.T, b *bytes.Buffer, o session.RunOptions, want *hdrhistogram.Histogram) {
	t.Helper()
	got := observe.NewHistogram()
	due := map[int64]bool{}
	h, dropped, err := samples.Read(b, func(s samples.Sample) error {
		if o.Params.Protocol == wire.UDP && s.Sent && !s.Answered {
			return nil // on a busy machine a reply can come too late
		}
		got.Record(s.Reply - s.Intended)
		due[s.Intended] = true
		if !s.Answered || s.Actual < s.Intended || s.Reply <= s.Actual || s.Intended < 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	if err != nil || dropped != 0 || h.Mode != o.Params.Mode || h.Schedule == "" != (o.Params.Mode != wire.ModeLoad) {
		t.Fatalf("%+v, %d dropped, %v", h, dropped, err)
	}
	encoded, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := hdrhistogram.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !decoded.Equals(want) {
		t.Errorf("the samples have %d observations, the histogram %d, or others", got.Count(), want.TotalCount())
	}
	if o.Params.Mode == wire.ModeLoad {
		for n := range int64(1200) {
			if !due[n*1e6] {
				t.Fatalf("no request was intended for %d ms", n)
			}
		}
	}
}

func checkHistograms(t *testing.T, b *bytes.Buffer, o session.RunOptions, want *hdrhistogram.Histogram) {
	t.Helper()
	reader := hdrhistogram.NewHistogramLogReader(b)
	lines, tagged := 0, int64(0)
	all := hdrhistogram.New(1, 100_000_000_000, 3)
	end := int64(0)
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if h.Tag() != "" {
			tagged += h.TotalCount()
			continue
		}
		lines++
		if since := time.Since(time.UnixMilli(h.StartTimeMs())); since < 0 || since > time.Minute ||
			h.StartTimeMs() < end-2 || h.EndTimeMs() < h.StartTimeMs() {
			t.Errorf("line %d from %d to %d, after %d", lines, h.StartTimeMs(), h.EndTimeMs(), end)
		}
		end = h.EndTimeMs()
		all.Merge(h)
	}
	if !all.Equals(want) || lines == 0 {
		t.Errorf("%d lines with %d observations, the result has %d", lines, all.TotalCount(), want.TotalCount())
	}
	if o.Params.Mode == wire.ModeLoad && (tagged != want.TotalCount() || lines < 2) {
		t.Errorf("%d lines, %d service times", lines, tagged)
	}
}

// TestLoadMemory: a longer run takes no more memory than a short one. The garbage collector is off, so the allocated
// memory is the used memory.
func TestLoadMemory(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	allocated := func(protocol string, d time.Duration) uint64 {
		p := enginetest.Load(protocol, 10)
		p.Duration = d
		o := enginetest.LoadOptions(address, p, 5000)
		var log, observations bytes.Buffer
		log.Grow(1 << 20) // the files of a run take no memory
		observations.Grow(1 << 20)
		o.Histograms, o.Samples = &log, &observations
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Run(t.Context(), o, &collector{}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		short, long := allocated(protocol, 100*time.Millisecond), allocated(protocol, time.Second)
		if float64(long) > float64(short)*1.1 {
			t.Errorf("%s: ten times the requests take %d bytes instead of %d", protocol, long, short)
		}
	}
}
