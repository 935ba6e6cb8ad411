package engine

import (
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// mostDrain is how long a load waits for replies after its window.
const mostDrain = 5 * time.Second

func fact(t *testing.T, r record.Result, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(r.Facts[name], 10, 64)
	if err != nil {
		t.Fatalf("fact %s: %v", name, err)
	}
	return n
}

func TestLoad(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := enginetest.Start(t, listen, 0)
		for _, c := range []struct {
			protocol          string
			connections       int
			arrivals          string
			request, response int
		}{
			{wire.TCP, 1, timing.ConstantArrivals, 64, 40}, {wire.TCP, 7, timing.PoissonArrivals, 64, 64}, {wire.TCP, 2,
				timing.ConstantArrivals, 300_000, 1},
			{wire.TCP, 2, timing.ConstantArrivals, 1, 300_000}, {wire.UDP, 1, timing.PoissonArrivals, 64, 40},
			{wire.UDP, 5, timing.ConstantArrivals, 100, 100},
		} {
			if listen != "127.0.0.1:0" && c.connections > 1 {
				continue // sizes and connections are the same over IPv6
			}
			t.Run(fmt.Sprint(c, listen), func(t *testing.T) {
				p := enginetest.Load(c.protocol, c.connections)
				p.Request, p.Response = c.request, c.response
				o := enginetest.LoadOptions(address, p, 1000)
				o.Load.Schedule.Arrivals = c.arrivals
				seen := &collector{}
				r, err := Run(t.Context(), o, seen)
				if err != nil {
					t.Fatal(err)
				}
				checkLoad(t, o, r, seen)
			})
		}
	}
}

func checkLoad(t *testing.T, o session.RunOptions, r record.Result, seen *collector) {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(r.Histogram))
	if err != nil {
		t.Fatal(err)
	}
	offered, answered := fact(t, r, "offered"), fact(t, r, "answered")
	due := int64(0)
	for _, at := range enginetest.DueTimes(o.Load.Schedule.After(o.Params.Warmup)) {
		if at >= int64(o.Params.Warmup) {
			due++
		}
	}
	if offered != due || value(t, r, result.OfferedRate, "", "") != float64(due)/o.Params.Duration.Seconds() {
		t.Errorf("offered %d, the schedule has %d", offered, due)
	}
	unanswered := value(t, r, result.Unanswered, "", "")
	if o.Params.Protocol == wire.UDP {
		if value(t, r, result.Received, "", "") != float64(answered) ||
			value(t, r, result.Lost, "", "") != float64(offered-answered) || unanswered != 0 {
			t.Errorf("%d of %d answered: %v", answered, offered, r.Metrics)
		}
	} else if unanswered != float64(offered-answered) || answered != offered {
		t.Errorf("%d of %d answered, %v unanswered", answered, offered, unanswered)
	}
	if h.TotalCount() != answered || fact(t, r, "server.transactions") < answered {
		t.Errorf("%d in the histogram, %d answered, the server says %s", h.TotalCount(), answered,
			r.Facts["server.transactions"])
	}
	for _, stat := range []string{"mean", "p50", "max"} {
		response, service, late := value(t, r, result.ResponseTime, stat, ""), value(t, r, result.ServiceTime, stat,
			""), value(t, r, result.SendLateness, stat, "")
		if service <= 0 || response < service || late < 0 || stat == "mean" &&
			math.Abs(response-service-late) > 1e-9+response*1e-6 && answered == offered {
			t.Errorf("%s: response %v, service %v, lateness %v", stat, response, service, late)
		}
	}
	if achieved := value(t, r, result.TransactionRate, "", ""); achieved <= 0 ||
		r.Definition != result.DefinitionResponseTime || r.Facts["pacing"] == "" {
		t.Errorf("achieved %v, definition %s, facts %v", achieved, r.Definition, r.Facts)
	}
	if len(seen.Intervals) == 0 || seen.Intervals[0].Response == nil || seen.Intervals[0].P50 != 0 ||
		seen.Started.Schedule != o.Load.Schedule.String() {
		t.Errorf("intervals %+v, start %+v", seen.Intervals, seen.Started)
	}
}

// TestLoadOfAStalledServer: the server stalls for 500 ms at the end of each 2.5 s. Whatever the rate, requests leave
// all the time: 20 % of them within a stall, and these wait from 0 to 500 ms for its end, equally distributed. So the
// share of requests that wait for longer than t is (500 ms - t) / 2.5 s: 10 % for 250 ms, 1 % for 475 ms, 0.1 % for
// 497.5 ms. The window is one period, so it does not matter where it begins. One request at a time says something else:
// it sees one stall, among thousands of short round trips.
//
// A busy machine only adds to the times: at most what the threads of both sides waited for a CPU, as far as the kernel
// counts it. So no attempt may be below the arithmetic, and one of three must be within 5 % of it and of that time.
func TestLoadOfAStalledServer(t *testing.T) {
	const stall, period = 500 * time.Millisecond, 2500 * time.Millisecond
	t.Setenv(enginetest.StallVariable, stall.String())
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	arithmetic := func(share float64) float64 { return stall.Seconds() - share*period.Seconds() }
	for protocol, c := range map[string]struct {
		rate  float64
		stats map[string]float64
	}{
		wire.TCP: {4000, map[string]float64{"p90": arithmetic(0.1), "p99": arithmetic(0.01),
			"p99.9": arithmetic(0.001)}},
		// The server's receive buffer holds some hundred datagrams; the count then supports no p99.9.
		wire.UDP: {400, map[string]float64{"p90": arithmetic(0.1), "p99": arithmetic(0.01)}},
	} {
		const attempts = 3
		for n := 1; ; n++ {
			p := enginetest.Load(protocol, 4)
			p.Duration = period
			r, err := Run(t.Context(), enginetest.LoadOptions(address, p, c.rate), &collector{})
			if err != nil {
				t.Fatal(err)
			}
			close, waited := true, 0.0
			for _, name := range []string{result.FactRunDelay, result.FactServerRunDelay} {
				if delay, err := time.ParseDuration(r.Facts[name]); err == nil {
					waited += delay.Seconds()
				}
			}
			for stat, want := range c.stats {
				got := value(t, r, result.ResponseTime, stat, "")
				t.Logf("%s: response time %s is %v s, arithmetic says %v s, waited for a CPU %v s", protocol, stat, got,
					want, waited)
				if got < want*0.95 {
					t.Errorf("%s: response time %s hides the stall", protocol, stat)
				}
				close = close && got <= want*1.05+waited
			}
			if close {
				break
			}
			if n == attempts {
				t.Fatalf("%s: not within 5 %% in any of %d attempts", protocol, attempts)
			}
		}
	}
	p := enginetest.RR(wire.TCP)
	p.Duration = period
	r, _, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	if p99, most := value(t, r, result.RTT, "p99", ""), value(t, r, result.RTT, "max", ""); p99 > 0.2 || most < 0.4 {
		t.Errorf("rr's p99 is %v s and its longest %v s: p99 should hide the stall, and the longest show it", p99, most)
	}
}

func TestLoadOfAThousandConnections(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		p := enginetest.Load(protocol, 1000)
		o := enginetest.LoadOptions(address, p, 10_000)
		seen := &collector{}
		r, err := Run(t.Context(), o, seen)
		if err != nil {
			t.Fatal(err)
		}
		if protocol == wire.TCP {
			checkLoad(t, o, r, seen)
		}
		if r.Facts["connections"] != "1000" {
			t.Error(r.Facts)
		}
	}
}

// TestLoadOverload offers a far higher rate than any machine can serve. The run ends, gives the achieved rate and the
// number of unanswered requests, and gives no percentile that those requests would change.
func TestLoadOverload(t *testing.T) {
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
			p := enginetest.Load(protocol, 2)
			p.Duration = 300 * time.Millisecond
			o := enginetest.LoadOptions(address, p, 100e6)
			said, err := measureApart(t, asked{Server: o.Server, Params: p, Load: o.Load},
				p.Length()+mostDrain+5*time.Second)
			if err != nil || said.Failure != "" {
				t.Fatal(err, said.Failure)
			}
			r := said.Result
			offered, achieved := value(t, r, result.OfferedRate, "", ""), value(t, r, result.TransactionRate, "", "")
			if offered != 100e6 || achieved <= 0 || achieved > offered/10 {
				t.Errorf("offered %v, achieved %v", offered, achieved)
			}
			if unanswered := value(t, r, result.Unanswered, "", ""); unanswered < offered*p.Duration.Seconds()/2 ||
				len(r.Notes) == 0 {
				t.Errorf("%v unanswered, notes %q", unanswered, r.Notes)
			}
			for _, m := range r.Metrics {
				if m.Name == result.ResponseTime && m.Stat != result.Min {
					t.Errorf("most requests have no reply, and %s is %v", m.Stat, m.Value)
				}
			}
		})
	}
}

// TestLoadLoss: the datagrams that a relay drops or doubles are counted, and nothing waits longer for them than the
// reply timeout.
func TestLoadLoss(t *testing.T) {
	var up, down, doubled atomic.Int64
	address := relay(t, func(n int64, toServer bool) int {
		switch {
		case n == 0: // the opening exchange
		case toServer && n%20 == 19:
			up.Add(1)
			return 0
		case !toServer && n%25 == 24:
			down.Add(1)
			return 0
		case !toServer && n%15 == 14:
			doubled.Add(1)
			return 2
		}
		return 1
	})
	p := enginetest.Load(wire.UDP, 1)
	p.Warmup = 0
	// So few that every buffer on the way holds them all, however late the relay runs.
	r, err := Run(t.Context(), enginetest.LoadOptions(address, p, 400), &collector{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, scope string
		want        int64
	}{{result.Lost, "up", up.Load()}, {result.Lost, "down", down.Load()}, {result.Lost, "", up.Load() + down.Load()},
		{result.Duplicates, "down", doubled.Load()}} {
		if got := value(t, r, c.name, "", c.scope); got != float64(c.want) || c.want == 0 {
			t.Errorf("%s %s is %v, the relay made %d", c.name, c.scope, got, c.want)
		}
	}
	if sent := value(t, r, result.Sent, "", ""); sent != 200 {
		t.Errorf("%v sent", sent)
	}
}

func TestLoadValidates(t *testing.T) {
	for name, wrong := range map[string]func(*session.RunOptions){
		"no schedule":    func(o *session.RunOptions) { o.Load = session.Load{} },
		"another length": func(o *session.RunOptions) { o.Params.Duration++ },
		"rr":             func(o *session.RunOptions) { o.Params.Mode = wire.ModeRR },
		"spin":           func(o *session.RunOptions) { o.Load.Spin = -1 },
		"connections":    func(o *session.RunOptions) { o.Params.Connections = wire.MaxConnections + 1 },
		"request":        func(o *session.RunOptions) { o.Params.Request = 0 },
		"amplifies":      func(o *session.RunOptions) { o.Params.Protocol, o.Params.Response = wire.UDP, 65 },
	} {
		o := enginetest.LoadOptions("127.0.0.1:1", enginetest.Load(wire.TCP, 1), 100)
		wrong(&o)
		if _, err := Run(t.Context(), o, &collector{}); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}
