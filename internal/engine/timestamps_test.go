package engine

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

func FuzzServerStamps(f *testing.F) {
	f.Add(uint32(1), int32(2), int32(3), int32(noDuration))
	f.Fuzz(func(t *testing.T, sequence uint32, receive, application, send int32) {
		want := serverStamps{sequence: sequence, receive: receive, application: application, send: send}
		var b [stampsSize]byte
		putServerStamps(b[:], want)
		if got := serverStampsOf(b[:]); got != want {
			t.Fatalf("%+v came back as %+v", want, got)
		}
		// What a server sends can be anything: a divider takes it or leaves it, and the parts add up.
		d := newDivider()
		d.offset.ahead = 0
		d.complete(&stampedTransaction{number: uint64(want.sequence), start: 1000, tx: 2000, rx: 9_000_000, end: 9_001_000, counted: true}, want)
		checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
		checkDivision(t, &d.coarse, partClient, partNetworkAndServerStack, partServerApplication)
	})
}

// failer is what a test and a property have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkDivision says whether the given parts add up to the round trips, and the finer ones to them.
func checkDivision(t failer, d *division, parts ...int) {
	t.Helper()
	var sum int64
	for _, p := range parts {
		sum += d.sums[p]
	}
	if sum != d.rtt {
		t.Fatalf("the parts add up to %d ns, the round trips to %d: %v", sum, d.rtt, d.sums)
	}
	if d.sums[partClientSend]+d.sums[partClientReceive]+d.sums[partClientNIC] != d.sums[partClient] ||
		d.sums[partServerSend]+d.sums[partServerReceive] != d.sums[partServerStack] {
		t.Fatalf("the directions do not add up: %v", d.sums)
	}
}

// TestDivider: whatever the clocks of the two hosts show, each part comes out as it was, up to what the offset is off.
func TestDivider(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDivider()
		d.offset.ahead = rapid.Int64Range(-1<<60, 1<<60).Draw(t, "client's offset")
		off := rapid.Int64Range(-50, 50).Draw(t, "error of the offset")
		want := map[int]int64{}
		count := rapid.IntRange(1, 50).Draw(t, "count")
		for n := range count {
			span := func(name string) int64 { return rapid.Int64Range(100, 1_000_000).Draw(t, name) }
			send, there, receive, application, reply, back, last := span("send"), span("there"), span("receive"), span("application"), span("reply"), span("back"), span("last")
			// Late enough that no stamp is 0, which would say that there is none.
			start := rapid.Int64Range(1<<61, 1<<62).Draw(t, "start")
			tx := start + send + d.offset.ahead + off
			rx := tx + there + receive + application + reply + back
			c := stampedTransaction{number: uint64(n + 1), start: start, tx: tx, rx: rx, end: rx - d.offset.ahead - off + last, counted: true}
			d.complete(&c, serverStamps{sequence: uint32(n + 1), receive: int32(receive), application: int32(application), send: int32(reply)})
			want[partClient] += send + last
			want[partNetwork] += there + back
			want[partServerStack] += receive + reply
			want[partServerApplication] += application
			want[partNetworkAndServerStack] += there + back + receive + reply
		}
		checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
		checkDivision(t, &d.coarse, partClient, partNetworkAndServerStack, partServerApplication)
		if d.full.count != int64(count) || d.coarse.count != int64(count) {
			t.Fatalf("%d and %d of %d are divided", d.full.count, d.coarse.count, count)
		}
		for part, sum := range want {
			from := &d.full
			if part == partNetworkAndServerStack {
				from = &d.coarse
			}
			if from.sums[part] != sum {
				t.Fatalf("%s is %d, want %d", partScope(part), from.sums[part], sum)
			}
		}
	})
}

// TestDividerLeavesOut: what is not known or not plausible is counted and not divided.
func TestDividerLeavesOut(t *testing.T) {
	whole := stampedTransaction{number: 7, start: 1000, tx: 2000, rx: 8000, end: 9000, counted: true}
	known := serverStamps{sequence: 7, receive: 1000, application: 100, send: 1000}
	for name, c := range map[string]struct {
		change       func(*stampedTransaction, *serverStamps)
		count        func(*divider) int64
		full, coarse int64
	}{
		"whole":              {func(*stampedTransaction, *serverStamps) {}, func(d *divider) int64 { return d.settled }, 1, 1},
		"no tx":              {func(t *stampedTransaction, _ *serverStamps) { t.tx = 0 }, func(d *divider) int64 { return d.noTx }, 0, 0},
		"no rx":              {func(t *stampedTransaction, _ *serverStamps) { t.rx = 0 }, func(d *divider) int64 { return d.noRx }, 0, 0},
		"no server rx":       {func(_ *stampedTransaction, s *serverStamps) { s.receive = noDuration }, func(d *divider) int64 { return d.noServerRx }, 0, 1},
		"no server tx":       {func(_ *stampedTransaction, s *serverStamps) { s.send = noDuration }, func(d *divider) int64 { return d.noServerTx }, 0, 1},
		"another":            {func(_ *stampedTransaction, s *serverStamps) { s.sequence++ }, func(d *divider) int64 { return 1 }, 0, 0},
		"not counted":        {func(t *stampedTransaction, _ *serverStamps) { t.counted = false }, func(d *divider) int64 { return d.settled }, 0, 0},
		"clock set forward":  {func(t *stampedTransaction, _ *serverStamps) { t.tx += 1e9; t.rx += 1e9 }, func(d *divider) int64 { return d.implausible }, 0, 0},
		"clock set between":  {func(t *stampedTransaction, _ *serverStamps) { t.rx -= 1e9 }, func(d *divider) int64 { return d.implausible }, 0, 0},
		"server longer":      {func(_ *stampedTransaction, s *serverStamps) { s.receive = 1e9 }, func(d *divider) int64 { return d.implausible }, 0, 1},
		"server's back time": {func(_ *stampedTransaction, s *serverStamps) { s.receive = -1e9 }, func(d *divider) int64 { return d.implausible }, 0, 1},
	} {
		d := newDivider()
		d.offset.ahead = 0
		transaction, stamps := whole, known
		c.change(&transaction, &stamps)
		d.complete(&transaction, stamps)
		if c.count(&d) != 1 || d.full.count != c.full || d.coarse.count != c.coarse {
			t.Errorf("%s: counted %d, %d divided in full, %d coarsely", name, c.count(&d), d.full.count, d.coarse.count)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		ns    int64
		known bool
		want  int32
	}{{5, true, 5}, {-5, true, -5}, {5, false, noDuration}, {1 << 40, true, noDuration}, {-1 << 40, true, noDuration}, {math.MinInt32, true, noDuration}} {
		if got := duration(c.ns, c.known); got != c.want {
			t.Errorf("%d ns, known %v: %d, want %d", c.ns, c.known, got, c.want)
		}
	}
}

func TestTimestampsValidate(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"crr":                func(p *Params) { p.Mode = ModeCRR },
		"short response":     func(p *Params) { p.Response = stampsSize - 1 },
		"short udp response": func(p *Params) { p.Protocol, p.Response = UDP, stampsOffset+stampsSize-1 },
	} {
		p := rrParams(TCP)
		p.Timestamps = true
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%s: timestamps are promised", name)
		}
	}
}

// stampedParams have a warm-up that is long enough for the overhead to be measured.
func stampedParams(protocol string) Params {
	p := rrParams(protocol)
	p.Warmup, p.Duration, p.Timestamps = 200*time.Millisecond, 700*time.Millisecond, true
	return p
}

// checkParts says whether the parts of a result add up to its mean round trip within 1 us.
func checkParts(t testing.TB, r record.Result) {
	t.Helper()
	if apart := checkPartsOf(t, r); math.Abs(apart) > mostApart {
		t.Errorf("the parts add up to %.3f us more than the round trip", apart*1e6)
	}
}

// checkPartsOf says whether the parts are whole, and gives by how many seconds their sum is more than the mean round trip:
// as much as the record says.
func checkPartsOf(t testing.TB, r record.Result) float64 {
	t.Helper()
	mean := func(scope string) float64 { return value(t, r, result.RTT, result.Mean, scope) }
	sum := mean("client") + mean("network") + mean("server-stack") + mean("server-application")
	apart := sum - mean("")
	if said, err := time.ParseDuration(r.Facts["timestamps_sum_minus_rtt"]); err != nil || math.Abs(apart-said.Seconds()) > 2e-9 {
		t.Errorf("the parts add up to %v s more than the round trip, the record says %v (%v)", apart, said, err)
	}
	if noted := strings.Contains(strings.Join(r.Notes, " "), "The parts are those of"); noted != (math.Abs(apart) > mostApart) {
		t.Errorf("the parts add up to %v s more than the round trip; notes: %v", apart, r.Notes)
	}
	for whole, directions := range map[string][2]string{"client": {"client-send", "client-receive"}, "server-stack": {"server-receive", "server-send"}} {
		if got := mean(directions[0]) + mean(directions[1]); math.Abs(got-mean(whole)) > 1e-12 {
			t.Errorf("%s is %v, its directions add up to %v", whole, mean(whole), got)
		}
	}
	for _, part := range []string{"client", "network", "server-stack", "server-application"} {
		if p50 := value(t, r, result.RTT, result.P50, part); mean(part) <= 0 || p50 <= 0 {
			t.Errorf("%s: mean %v, p50 %v", part, mean(part), p50)
		}
	}
	t.Logf("%.2f us: client %.2f, network %.2f, server stack %.2f, server application %.2f; divided %s, overhead %s", mean("")*1e6, mean("client")*1e6,
		mean("network")*1e6, mean("server-stack")*1e6, mean("server-application")*1e6, r.Facts["timestamps_divided"], r.Facts["timestamps_overhead"])
	return apart
}
