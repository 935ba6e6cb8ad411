package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nearfar/internal/onhost/engine"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/hostverbs"
)

func TestEngineLoadUsage(t *testing.T) {
	t.Setenv(hostverbs.SecretVariable, "open sesame")
	for _, c := range []struct{ args, want string }{
		{"load 127.0.0.1:1", "--rate"},
		{"load 127.0.0.1:1 --rate 10/s --steps 1/s:1s", "one of"},
		{"load 127.0.0.1:1 --rate 10", "/s"},
		{"load 127.0.0.1:1 --rate 0/s", "rate"},
		{"load 127.0.0.1:1 --rate 10/s --arrivals bursty", "poisson"},
		{"load 127.0.0.1:1 --rate 10/s --connections 5000", "connections"},
		{"load 127.0.0.1:1 --rate 10/s --objective loss<1%", "--sweep"},
		{"load 127.0.0.1:1 --steps 10/s", "RATE:DURATION"},
		{"load 127.0.0.1:1 --steps 10/s:1s --duration 2s", "--duration"},
		{"load 127.0.0.1:1 --sweep 10/s..5/s", "lower"},
		{"load 127.0.0.1:1 --sweep 10/s..", "--sweep"},
		{"load 127.0.0.1:1 --sweep 10/s --samples x", "one load"},
		{"load 127.0.0.1:1 --sweep 10/s --objective fast", "objective"},
		{"load 127.0.0.1:1 --sweep 10/s --objective loss<1%", "udp"},
		{"load 127.0.0.1:1 --rate 10/s --protocol udp --request 64B --response 65B", "amplifies"},
		{"load 127.0.0.1:1 --rate 10/s --duration 0s", "step"},
		{"load 127.0.0.1:1 --rate 10/s --spin 2s", "spin"},
		{"serve --stall 200ms", "LENGTH/PERIOD"},
		{"serve --stall 2s/1s", "--stall"},
		{"samples", "name the file"},
		{"samples x", "--csv"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"engine"}, strings.Fields(c.args)...)
		if code := Main(args, strings.NewReader(""), &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		if !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: %q, and on standard output %q", c.args, &stderr, &stdout)
		}
	}
}

// serveLoads serves in this process, which is enough for slow loads, and returns the address.
func serveLoads(t *testing.T) string {
	t.Helper()
	process.Tune()
	t.Setenv(hostverbs.SecretVariable, "open sesame")
	at := make(chan netip.AddrPort, 1)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- engine.Serve(ctx, session.ServeOptions{
			Listen: "127.0.0.1:0", Secret: []byte("open sesame"), Listening: func(a netip.AddrPort) { at <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-at:
		return a.String()
	case err := <-ended:
		t.Fatal(err)
	}
	return ""
}

func engineMain(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Main(append([]string{"engine"}, args...), strings.NewReader(""), &stdout, &stderr); code != exitDone {
		t.Fatalf("%q: exit code %d: %s%s", args, code, &stderr, &stdout)
	}
	return stdout.String()
}

// TestEngineLoad: the text, and the files, which give what the run says.
func TestEngineLoad(t *testing.T) {
	address := serveLoads(t)
	dir := t.TempDir()
	file, log := filepath.Join(dir, "samples"), filepath.Join(dir, "histogram")
	out := engineMain(t, "load", address, "--steps", "500/s:100ms,1000/s:100ms", "--warmup", "20ms",
		"--connections", "3", "--samples", file, "--histogram", log)
	for _, want := range []string{
		"constant 500/s:100ms,1000/s:100ms", "response_time p50", "send_lateness p50", "offered=150", "answered=150",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	csv := strings.Split(strings.TrimSpace(engineMain(t, "samples", file, "--csv")), "\n")
	if len(csv) != 151 || csv[0] != "intended_ns,actual_ns,reply_ns" {
		t.Errorf("%d lines, the first %q", len(csv), csv[0])
	}
	for _, line := range csv[1:] {
		var at []int64
		for field := range strings.SplitSeq(line, ",") {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			at = append(at, n)
		}
		if len(at) != 3 || at[0] < 0 || at[1] < at[0] || at[2] <= at[1] {
			t.Errorf("%q", line)
		}
	}
	written, err := os.ReadFile(log)
	if err != nil || !bytes.Contains(written, []byte("#[Histogram log format version 1.3]\n")) ||
		!bytes.Contains(written, []byte("Tag=service_time,")) {
		t.Errorf("%v: %.300s", err, written)
	}
}

func TestEngineSweep(t *testing.T) {
	address := serveLoads(t)
	sweep := []string{"load", address, "--sweep", "1000/s..4000/s", "--duration", "1s", "--warmup", "20ms",
		"--objective"}
	out := engineMain(t, append(sweep, "response_time.p90 < 1h")...)
	if lines := strings.Count(out, "kept"); lines != 3 || !strings.Contains(out, "the limit is higher") {
		t.Error(out)
	}
	printed := engineMain(t, append(sweep, "response_time.p90 < 1ns", "-f", "json")...)
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	var last struct {
		Type, Verdict string
		Points        []struct {
			Type     string
			Rate     float64
			Achieved float64 `json:"transaction_rate"`
			Response struct{ P50, P99 *float64 }
			Kept     *bool
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if last.Type != "sweep" || len(last.Points) != 3 || len(lines) != 4 ||
		!strings.Contains(last.Verdict, "even the lowest rate") {
		t.Errorf("%d lines, %+v", len(lines), last)
	}
	for _, p := range last.Points {
		if p.Type != "point" || p.Achieved <= 0 || p.Kept == nil || *p.Kept {
			t.Errorf("%+v", p)
		}
	}
}
