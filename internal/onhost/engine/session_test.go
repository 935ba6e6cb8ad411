package engine

import (
	"strconv"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

func run(t testing.TB, address string, p wire.Params) (record.Result, *collector, error) {
	t.Helper()
	c := &collector{}
	r, err := Run(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p}, c)
	return r, c, err
}

func value(t testing.TB, r record.Result, name, stat, scope string) float64 {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Name == name && m.Stat == stat && m.Scope == scope {
			return m.Value
		}
	}
	t.Fatalf("the result has no %s %s %s", name, stat, scope)
	return 0
}

func TestTransactions(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := enginetest.Start(t, listen, 0)
		crr := enginetest.RR(wire.TCP)
		crr.Mode = wire.ModeCRR
		large := enginetest.RR(wire.TCP)
		large.Request, large.Response = 1<<20, 300_000 // several reads and writes each
		for name, p := range map[string]wire.Params{"tcp": enginetest.RR(wire.TCP), "udp": enginetest.RR(wire.UDP),
			"crr": crr, "large": large} {
			t.Run(name+" "+listen, func(t *testing.T) {
				r, c, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				checkTransactions(t, p, r, c)
			})
		}
	}
}

func checkTransactions(t *testing.T, p wire.Params, r record.Result, c *collector) {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(r.Histogram))
	if err != nil {
		t.Fatal(err)
	}
	var inIntervals int64
	for _, i := range c.Intervals {
		inIntervals += i.Count
	}
	if h.TotalCount() != inIntervals || inIntervals == 0 {
		t.Errorf("%d in the histogram, %d in the intervals", h.TotalCount(), inIntervals)
	}
	// One transaction at a time: the mean times the rate is one, less what a lost or interrupted moment costs.
	if share := value(t, r, result.TransactionRate, "", "") * value(t, r, result.RTT, "mean", ""); share > 1.0001 ||
		share < 0.5 {
		t.Errorf("rate times mean round trip is %v", share)
	}
	least, median, most := value(t, r, result.RTT, "min", ""), value(t, r, result.RTT, "p50", ""), value(t, r,
		result.RTT, "max", "")
	if least <= 0 || least > median || median > most {
		t.Errorf("min %v, p50 %v, max %v", least, median, most)
	}
	if r.Duration < p.Duration.Seconds() || c.Started.Duration != p.Duration.Seconds() {
		t.Errorf("a window of %v, announced %v", r.Duration, c.Started.Duration)
	}
	answered, err := strconv.ParseInt(r.Facts["server.transactions"], 10, 64)
	if err != nil || answered < inIntervals {
		t.Errorf("the server answered %d (%v), the client recorded %d", answered, err, inIntervals)
	}
	switch {
	case p.Mode == wire.ModeCRR:
		if connect := value(t, r, result.ConnectTime, "p50", ""); connect >= median {
			t.Errorf("connecting took %v of %v", connect, median)
		}
	case p.Protocol == wire.UDP:
		if sent, lost := value(t, r, result.Sent, "", ""), value(t, r, result.Lost, "",
			""); sent != float64(inIntervals)+lost {
			t.Errorf("sent %v, received %v, lost %v", sent, inIntervals, lost)
		}
	default:
		if r.Facts["tcp_nodelay"] != "true" || r.Facts["tcp_mss"] == "" || r.Facts["server.tcp_congestion"] == "" ||
			r.Facts["cpus"] == "" {
			t.Errorf("facts: %v", r.Facts)
		}
	}
}

func TestStream(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, connections := range []int{1, 4} {
		p := enginetest.Stream(connections)
		if connections == 1 {
			p.Duration = 1200 * time.Millisecond // an interval of a second, and the rest
		}
		r, c, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		var bytes int64
		for _, i := range c.Intervals {
			bytes += i.Bytes
		}
		if len(c.Intervals) == 0 || strconv.FormatInt(bytes, 10) != r.Facts["server.bytes"] {
			t.Errorf("%d intervals with %d bytes, in all %s", len(c.Intervals), bytes, r.Facts["server.bytes"])
		}
		if got, want := value(t, r, result.Goodput, "", ""), float64(bytes)*8/r.Duration; got <= 0 ||
			got/want > 1.0001 || got/want < 0.9999 {
			t.Errorf("goodput %v, not %v", got, want)
		}
		value(t, r, result.Retransmits, "", "")
		for _, side := range []string{"client", "server"} {
			if cores := value(t, r, result.CPU, "", side); cores <= 0 || cores > 64 {
				t.Errorf("the %s used %v cores", side, cores)
			}
		}
	}
}

// TestLoop: both sides run the same loop of rr over TCP, and name it: the requested loop, or the fastest that both
// have. A server that stalls has only the one in Go.
func TestLoop(t *testing.T) {
	fastest := wire.LoopGo
	if sys.AssemblyLoop && timing.HasCounter() {
		fastest = wire.LoopAssembly
	}
	check := func(address, asked, want string) {
		t.Helper()
		p := enginetest.RR(wire.TCP)
		p.Loop, p.Duration = asked, 50*time.Millisecond
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		if r.Facts["loop"] != want || r.Facts["server.loop"] != want {
			t.Errorf("asked for %q: the client ran %q, the server %q, want %q", asked, r.Facts["loop"],
				r.Facts["server.loop"], want)
		}
	}
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	check(address, "", fastest)
	check(address, wire.LoopGo, wire.LoopGo)
	t.Setenv(enginetest.StallVariable, "10ms")
	stalling, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	check(stalling, "", wire.LoopGo)
	p := enginetest.RR(wire.TCP)
	p.Loop = wire.LoopAssembly
	if _, _, err := run(t, stalling, p); err == nil || !strings.Contains(err.Error(), "loop assembly") {
		t.Errorf("a loop that the server does not have: %v", err)
	}
}
