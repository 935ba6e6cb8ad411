package record

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/result"
)

func histogram(t testing.TB) string {
	t.Helper()
	h := hdrhistogram.New(1, 1000, 3)
	if err := h.RecordValue(5); err != nil {
		t.Fatal(err)
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func goodResult(t testing.TB) Result {
	t.Helper()
	return Result{Version: "1", Mode: "rr", Protocol: "tcp", MessageBytes: 64, Duration: 2, ReportedAs: "rtt",
		Definition: "rtt",
		Metrics:    []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: 5e-6}},
		Histogram:  histogram(t), Facts: map[string]string{"io": "x"}}
}

// printed is a whole run.
func printed(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, err := range []error{
		w.Start(Start{Version: "1", Mode: "rr", Protocol: "tcp", Connections: 1, Duration: 2}),
		w.Interval(Interval{Second: 1, End: 1, Count: 3, Rate: 3, P50: 5e-6}),
		w.Result(goodResult(t)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	run, err := Read(printed(t))
	if err != nil {
		t.Fatal(err)
	}
	want := goodResult(t)
	want.Type = typeResult
	if diff := cmp.Diff(want, run.Result); diff != "" {
		t.Error(diff)
	}
	if len(run.Intervals) != 1 || run.Intervals[0].Count != 3 || run.Start.Mode != "rr" {
		t.Errorf("%+v", run)
	}
}

// TestCutShort: no beginning of an output is taken for a whole one.
func TestCutShort(t *testing.T) {
	whole := bytes.TrimSpace(printed(t))
	for n := range whole {
		if run, err := Read(whole[:n]); err == nil || len(run.Result.Metrics) != 0 {
			t.Fatalf("the first %d of %d bytes: %v, %+v", n, len(whole), err, run.Result)
		}
	}
}

func TestFailure(t *testing.T) {
	var b bytes.Buffer
	if err := NewWriter(&b).Failure("connection refused"); err != nil {
		t.Fatal(err)
	}
	var failed *FailedError
	if _, err := Read(b.Bytes()); !errors.As(err, &failed) || failed.Message != "connection refused" {
		t.Errorf("%v", err)
	}
}

func TestWrongOutput(t *testing.T) {
	start := `{"type":"start"}` + "\n"
	for name, text := range map[string]string{
		"no json":        "hello\n",
		"no start":       `{"type":"interval","second":1}`,
		"two starts":     start + start,
		"unknown type":   start + `{"type":"x"}`,
		"no metrics":     start + `{"type":"result","duration_seconds":1}`,
		"negative":       start + `{"type":"result","duration_seconds":1,"metrics":[{"name":"rtt","unit":"s","value":-1}]}`,
		"infinite":       start + `{"type":"result","duration_seconds":1,"metrics":[{"name":"rtt","unit":"s","value":1e999}]}`,
		"another unit":   start + `{"type":"result","duration_seconds":1,"metrics":[{"name":"rtt","unit":"us","value":1}]}`,
		"unknown metric": start + `{"type":"result","duration_seconds":1,"metrics":[{"name":"speed","unit":"s","value":1}]}`,
		"no window":      start + `{"type":"result","metrics":[{"name":"rtt","unit":"s","value":1}]}`,
		"bad histogram":  start + `{"type":"result","duration_seconds":1,"histogram":"AAAA","metrics":[{"name":"rtt","unit":"s","value":1}]}`,
		"bad response":   start + `{"type":"interval","second":1,"response_time":{"p50":1,"p99":-1}}`,
		"bad interval":   start + `{"type":"interval","second":1,"rtt_p50":-1}`,
		"after the end":  string(printed(t)) + start,
		"long fact": start + `{"type":"result","duration_seconds":1,"facts":{"a":"` + strings.Repeat("x",
			maxText+1) + `"},"metrics":[{"name":"rtt","unit":"s","value":1}]}`,
		"line too long":   start + `{"type":"result","version":"` + strings.Repeat("x", maxLine) + `"}`,
		"nothing":         "",
		"only white room": "\n \n",
	} {
		run, err := Read([]byte(text))
		var failed *FailedError
		if err == nil || errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "after the end" && len(run.Result.Metrics) != 0 {
			t.Errorf("%s: a result beside the error", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(printed(f))
	f.Add([]byte(`{"type":"error","message":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		run, err := Read(b)
		if err != nil {
			return
		}
		if err := run.Result.check(); err != nil {
			t.Errorf("a result that was read does not hold: %v", err)
		}
		var again bytes.Buffer
		w := NewWriter(&again)
		if err := errors.Join(w.Start(run.Start), w.Result(run.Result)); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(again.Bytes()); err != nil {
			t.Errorf("what was read cannot be written and read again: %v", err)
		}
	})
}
