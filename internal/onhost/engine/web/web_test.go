package web

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

func TestMain(m *testing.M) { enginetest.Main(m, Serve) }

// collector keeps the intervals.
type collector struct{ intervals []record.Interval }

// Start does nothing.
func (*collector) Start(record.Start) error { return nil }

// Interval keeps an interval.
func (c *collector) Interval(i record.Interval) error {
	c.intervals = append(c.intervals, i)
	return nil
}

// find gives a metric, and whether it is there.
func find(r record.Result, name, stat, scope string) (float64, bool) {
	for _, m := range r.Metrics {
		if m.Name == name && m.Stat == stat && m.Scope == scope {
			return m.Value, true
		}
	}
	return 0, false
}

func value(t *testing.T, r record.Result, name, stat, scope string) float64 {
	t.Helper()
	v, ok := find(r, name, stat, scope)
	if !ok {
		t.Errorf("no %s %s %s in %v", name, stat, scope, r.Metrics)
	}
	return v
}

// sessionParams are those of a short session.
func sessionParams(h wire.HTTP) wire.Params {
	return wire.Params{Mode: wire.ModeHTTP, Protocol: wire.TCP, Connections: 3, Request: 64, Response: 10_000, HTTP: h,
		Warmup: 50 * time.Millisecond, Duration: 300 * time.Millisecond}
}

// TestSessions measures in every way that requests can travel, and looks at which phases they had.
func TestSessions(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, version := range []int{wire.HTTP1, wire.HTTP2} {
		for _, secure := range []bool{false, true} {
			for _, perRequest := range []bool{false, true} {
				for _, size := range []int{0, 64} {
					p := sessionParams(wire.HTTP{Version: version, TLS: secure, PerRequest: perRequest})
					p.Request = size
					c := &collector{}
					r, err := session.Run(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret,
						Params: p}, MeasureSession, c)
					if err != nil {
						t.Fatalf("%+v: %v", p, err)
					}
					checkSession(t, p, r, c)
				}
			}
		}
	}
}

func checkSession(t *testing.T, p wire.Params, r record.Result, c *collector) {
	t.Helper()
	if r.Mode != wire.ModeHTTP || r.Definition != result.DefinitionHTTP || r.Histogram == "" || len(r.Notes) > 0 {
		t.Errorf("%+v: %+v", p, r)
	}
	for _, name := range []string{result.ResponseTime, result.FirstByteTime, result.RestTime} {
		if v := value(t, r, name, result.Mean, ""); v <= 0 || v > 0.3 {
			t.Errorf("%+v: %s is %v", p, name, v)
		}
	}
	_, connected := find(r, result.ConnectTime, result.Mean, "")
	_, secured := find(r, result.TLSTime, result.Mean, "")
	if connected != p.HTTP.PerRequest || secured != (p.HTTP.PerRequest && p.HTTP.TLS) {
		t.Errorf("%+v: connected in the window %v, secured %v", p, connected, secured)
	}
	if p.HTTP.PerRequest {
		// The phases are parts of the response time, which has little beside them.
		sum := 0.0
		for _, name := range []string{result.ConnectTime, result.TLSTime, result.FirstByteTime, result.RestTime} {
			v, _ := find(r, name, result.Mean, "")
			sum += v
		}
		if all := value(t, r, result.ResponseTime, result.Mean, ""); sum > all*1.0001 {
			t.Errorf("%+v: phases of %v in a response time of %v", p, sum, all)
		}
	}
	if value(t, r, result.Errors, "", "") != 0 || value(t, r, result.ErrorShare, "", "") != 0 {
		t.Errorf("%+v: errors", p)
	}
	if rate := value(t, r, result.TransactionRate, "", ""); rate <= 0 || len(c.intervals) == 0 ||
		c.intervals[0].Response == nil {
		t.Errorf("%+v: rate %v, intervals %+v", p, rate, c.intervals)
	}
	want := map[bool]string{true: "TLS 1.3", false: "none"}[p.HTTP.TLS]
	if r.Facts["tls"] != want || r.Facts["ip"] != "4" || r.Facts["server.io"] != "net/http" {
		t.Errorf("%+v: facts %v", p, r.Facts)
	}
	if opened := r.Facts["connections_opened"]; !p.HTTP.PerRequest {
		if want := map[int]string{wire.HTTP1: "3", wire.HTTP2: "1"}[p.HTTP.Version]; opened != want {
			t.Errorf("%+v: %s connections", p, opened)
		}
	}
}

// TestOfferedRate: requests are as many as were offered, and none is late for another's answer.
func TestOfferedRate(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := sessionParams(wire.HTTP{Version: wire.HTTP1})
	load := session.Load{Schedule: timing.Schedule{Arrivals: timing.ConstantArrivals,
		Steps: []timing.Step{{Rate: 200, Length: p.Duration}}}}
	r, err := session.Run(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p,
		Load: load}, MeasureSession, &collector{})
	if err != nil {
		t.Fatal(err)
	}
	if offered := value(t, r, result.OfferedRate, "", ""); offered < 199 || offered > 201 {
		t.Errorf("offered %v/s", offered)
	}
	if r.Facts["offered"] != "60" || r.Facts["answered"] != "60" || value(t, r, result.Unanswered, "", "") != 0 {
		t.Errorf("facts %v", r.Facts)
	}
	value(t, r, result.SendLateness, result.Mean, "")
	value(t, r, result.ServiceTime, result.Mean, "")
}

// options are those of a short measurement of a URL.
func options(t *testing.T, to string) Options {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return Options{URL: u, HTTP: wire.HTTP{Version: wire.HTTP1}, Concurrency: 2, Duration: 200 * time.Millisecond,
		Timeout: 100 * time.Millisecond}
}

// queue is a server of a known capacity: it finishes one request each length of time, in the order in which they come,
// and stops for the last fifth of a second of every second.
type queue struct {
	each  time.Duration
	stall timing.Stall
	start int64

	mu   sync.Mutex
	free int64
}

// ServeHTTP answers when the request's turn is over.
func (q *queue) ServeHTTP(http.ResponseWriter, *http.Request) {
	q.mu.Lock()
	at := max(q.free, timing.Now()-q.start)
	at += q.stall.Left(at) + int64(q.each)
	at += q.stall.Left(at)
	q.free = at
	q.mu.Unlock()
	time.Sleep(time.Duration(at - (timing.Now() - q.start))) // the service that is measured
}

// TestStallByArithmetic offers 80 % of what a server can do, which stops for 200 ms of every second. A request that is
// due t after a stall began waits for 200 ms - 0.2 t: what is left of the stall, and those before it. So the waiting
// times are spread evenly from 0 to 200 ms over the second, and p99 is 198 ms and the service.
func TestStallByArithmetic(t *testing.T) {
	q := &queue{each: 4 * time.Millisecond, start: timing.Now(),
		stall: timing.Stall{Length: 200 * time.Millisecond, Period: time.Second}}
	server := httptest.NewServer(q)
	defer server.Close()
	o := options(t, server.URL)
	o.Concurrency, o.Warmup, o.Duration, o.Timeout = 100, time.Second, 5*time.Second, 5*time.Second
	o.Schedule = timing.Schedule{Arrivals: timing.ConstantArrivals, Steps: []timing.Step{{Rate: 200, Length: o.Duration}}}
	r, err := Measure(t.Context(), o, &collector{})
	if err != nil {
		t.Fatal(err)
	}
	const want = 0.198 + 0.004
	if p99 := value(t, r, result.ResponseTime, result.P99, ""); p99 < 0.95*want || p99 > 1.05*want {
		t.Errorf("p99 is %v s, and %v s by arithmetic", p99, want)
	}
	if r.Facts["answered"] != "1000" {
		t.Errorf("facts %v", r.Facts)
	}
}

// TestURL asks a server that is not nearfar's, with headers of the user's.
func TestURL(t *testing.T) {
	var host, token string
	var seen sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Do(func() { host, token = r.Host, r.Header.Get("X-Token") })
		if r.URL.RequestURI() != "/page?q=1" || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	o := options(t, server.URL+"/page?q=1")
	o.Header = http.Header{"X-Token": {"secret"}, "Host": {"site.example"}}
	r, err := Measure(t.Context(), o, &collector{})
	if err != nil {
		t.Fatal(err)
	}
	if value(t, r, result.Errors, "", "") != 0 || host != "site.example" || token != "secret" {
		t.Errorf("host %q, token %q: %v", host, token, r.Notes)
	}
}

// TestHTTP2Negotiates: a server that has no HTTP/2 is told apart from one that fails.
func TestHTTP2Negotiates(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	o := options(t, server.URL)
	o.HTTP.Version = wire.HTTP2
	o.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	_, err := Measure(t.Context(), o, &collector{})
	if err == nil || !strings.Contains(err.Error(), "tls") && !strings.Contains(err.Error(), "HTTP/2") {
		t.Errorf("%v", err)
	}
}

// TestOptions refuses what makes no sense.
func TestOptions(t *testing.T) {
	for to, want := range map[string]string{
		"ftp://a":         "begins with http",
		"http://":         "no host",
		"http://u:p@a/":   "Authorization",
		"http://a/#there": "behind #",
	} {
		if _, err := Measure(t.Context(), options(t, to), &collector{}); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v", to, err)
		}
	}
	for name, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"own":     {http.Header{"Content-Length": {"7"}}, "set by nearfar"},
		"name":    {http.Header{"A b": {"7"}}, "no name"},
		"control": {http.Header{"A": {"hush\r\nB: 1"}}, "control characters"},
	} {
		o := options(t, "http://127.0.0.1:1")
		o.Header = c.header
		if _, err := Measure(t.Context(), o, &collector{}); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFailureKinds: every kind has a word of its own.
func TestFailureKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := range kinds {
		if seen[k.String()] {
			t.Errorf("%v twice", k)
		}
		seen[k.String()] = true
	}
	if f := failed(closed, "reading", errors.New("x")); f.kind != closed || f.Error() != "reading: x" {
		t.Errorf("%+v", f)
	}
}

// fixed answers each request on one connection with the same bytes, and allocates nothing for it.
func fixed(b *testing.B, answer string) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		request, text := make([]byte, 64<<10), []byte(answer)
		for err == nil {
			if _, err = c.Read(request); err == nil {
				_, err = c.Write(text)
			}
		}
	}()
	return "http://" + l.Addr().String()
}

// BenchmarkExchange says what a client allocates for one request of HTTP/1.1 on a connection that stays: nothing,
// unless the header of the answer is another than the last one's.
func BenchmarkExchange(b *testing.B) {
	for name, answer := range map[string]string{
		"known": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n" + strings.Repeat("x", 1024),
		"read": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"3\r\nabc\r\n0\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			u, err := url.Parse(fixed(b, answer))
			if err != nil {
				b.Fatal(err)
			}
			r, err := newRun(Options{URL: u, HTTP: wire.HTTP{Version: wire.HTTP1}, Concurrency: 1, Duration: time.Second})
			if err != nil {
				b.Fatal(err)
			}
			c := r.exchanger()
			defer c.close()
			b.ReportAllocs()
			var p phases
			for b.Loop() {
				if err := c.exchange(b.Context(), time.Now().Add(time.Minute), &p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
