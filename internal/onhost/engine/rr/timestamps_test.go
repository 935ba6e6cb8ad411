package rr

import (
	"testing"

	"pgregory.net/rapid"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

func FuzzServerStamps(f *testing.F) {
	f.Add(uint32(1), int32(2), int32(3), int32(wire.NoDuration))
	f.Fuzz(func(t *testing.T, sequence uint32, receive, application, send int32) {
		want := wire.ServerStamps{Sequence: sequence, Receive: receive, Application: application, Send: send}
		var b [wire.StampsSize]byte
		wire.PutServerStamps(b[:], want)
		if got := wire.ReadServerStamps(b[:]); got != want {
			t.Fatalf("%+v came back as %+v", want, got)
		}
		// The values from a server can be anything: a divider takes them or leaves them out, and the parts add up.
		d := newDivider()
		d.offset.ahead = 0
		d.complete(&stampedTransaction{number: uint64(want.Sequence), start: 1000, end: 9_001_000, counted: true,
			Stamps: sys.Stamps{Tx: 2000, Rx: 9_000_000}}, want)
		checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
		checkDivision(t, &d.coarse, partClient, partNetworkAndServerStack, partServerApplication)
	})
}

// failer has the methods that a test and a property share.
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

// TestDivider: the parts of a round trip come out right whatever the clocks of the two hosts show, up to the error of
// the offset.
func TestDivider(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDivider()
		d.offset.ahead = rapid.Int64Range(-1<<60, 1<<60).Draw(t, "client's offset")
		off := rapid.Int64Range(-50, 50).Draw(t, "error of the offset")
		want := map[int]int64{}
		count := rapid.IntRange(1, 50).Draw(t, "count")
		for n := range count {
			span := func(name string) int64 { return rapid.Int64Range(100, 1_000_000).Draw(t, name) }
			send, there, receive, application, reply, back, last := span("send"), span("there"), span("receive"),
				span("application"), span("reply"), span("back"), span("last")
			// Late enough that no stamp is 0, which would say that there is none.
			start := rapid.Int64Range(1<<61, 1<<62).Draw(t, "start")
			tx := start + send + d.offset.ahead + off
			rx := tx + there + receive + application + reply + back
			c := stampedTransaction{number: uint64(n + 1), start: start, end: rx - d.offset.ahead - off + last,
				counted: true,
				Stamps:  sys.Stamps{Tx: tx, Rx: rx}}
			d.complete(&c, wire.ServerStamps{Sequence: uint32(n + 1), Receive: int32(receive),
				Application: int32(application), Send: int32(reply)})
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

// TestDividerLeavesOut: unknown or implausible values are counted and not divided.
func TestDividerLeavesOut(t *testing.T) {
	whole := stampedTransaction{number: 7, start: 1000, end: 9000, counted: true, Stamps: sys.Stamps{Tx: 2000,
		Rx: 8000}}
	known := wire.ServerStamps{Sequence: 7, Receive: 1000, Application: 100, Send: 1000}
	for name, c := range map[string]struct {
		change       func(*stampedTransaction, *wire.ServerStamps)
		count        func(*divider) int64
		full, coarse int64
	}{
		"whole": {func(*stampedTransaction, *wire.ServerStamps) {},
			func(d *divider) int64 { return d.settled }, 1, 1},
		"no tx": {func(t *stampedTransaction, _ *wire.ServerStamps) { t.Tx = 0 },
			func(d *divider) int64 { return d.noTx }, 0, 0},
		"no rx": {func(t *stampedTransaction, _ *wire.ServerStamps) { t.Rx = 0 },
			func(d *divider) int64 { return d.noRx }, 0, 0},
		"no server rx": {func(_ *stampedTransaction, s *wire.ServerStamps) { s.Receive = wire.NoDuration },
			func(d *divider) int64 { return d.noServerRx }, 0, 1},
		"no server tx": {func(_ *stampedTransaction, s *wire.ServerStamps) { s.Send = wire.NoDuration },
			func(d *divider) int64 { return d.noServerTx }, 0, 1},
		"another": {func(_ *stampedTransaction, s *wire.ServerStamps) { s.Sequence++ },
			func(d *divider) int64 { return 1 }, 0, 0},
		"not counted": {func(t *stampedTransaction, _ *wire.ServerStamps) { t.counted = false },
			func(d *divider) int64 { return d.settled }, 0, 0},
		"clock set forward": {func(t *stampedTransaction, _ *wire.ServerStamps) { t.Tx += 1e9; t.Rx += 1e9 },
			func(d *divider) int64 { return d.implausible }, 0, 0},
		"clock set between": {func(t *stampedTransaction, _ *wire.ServerStamps) { t.Rx -= 1e9 },
			func(d *divider) int64 { return d.implausible }, 0, 0},
		"server longer": {func(_ *stampedTransaction, s *wire.ServerStamps) { s.Receive = 1e9 },
			func(d *divider) int64 { return d.implausible }, 0, 1},
		"server's back time": {func(_ *stampedTransaction, s *wire.ServerStamps) { s.Receive = -1e9 },
			func(d *divider) int64 { return d.implausible }, 0, 1},
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
