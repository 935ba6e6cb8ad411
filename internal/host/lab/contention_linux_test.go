package lab

import (
	"math"
	"testing"
	"time"

	"nearfar/internal/host"
)

func TestParseContention(t *testing.T) {
	if u, err := parseUse([]byte("438002713 289641833 156\n")); err != nil || u.Ran != 438002713 ||
		u.Delay != 289641833 {
		t.Errorf("%+v, %v", u, err)
	}
	for _, wrong := range []string{"", "1 2", "x 2 3", "1 x 3"} {
		if u, err := parseUse([]byte(wrong)); err == nil {
			t.Errorf("%q: %+v", wrong, u)
		}
	}
	total, avg10, ok := parsePressure([]byte("some avg10=1.98 avg60=4.29 avg300=15.97 total=120830218\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	if !ok || total != 120830218*time.Microsecond || math.Abs(avg10-0.0198) > 1e-9 {
		t.Errorf("%v %v %v", total, avg10, ok)
	}
	if _, _, ok := parsePressure([]byte("full total=1\n")); ok {
		t.Error("a pressure without its line")
	}
	if l, ok := parseLoad([]byte("0.44 1.21 0.67 2/317 26486\n")); !ok || l.Average != 0.44 || l.Running != 2 {
		t.Errorf("%+v %v", l, ok)
	}
	cpus, err := parseCPUTimes([]byte(procStat))
	if err != nil || cpus[1].stolen != 28500*time.Millisecond {
		t.Errorf("%+v %v", cpus, err)
	}
}

// TestOthersOnTheCPUs: CPU time of the trial's processes, of the wires' threads and of software interrupts does not
// count as other programs', and neither does steal time.
func TestOthersOnTheCPUs(t *testing.T) {
	const ms = time.Millisecond
	start := time.Now()
	w := &watched{
		cpus: []int{1}, client: []int{1}, server: []int{1}, all: []int{0, 1}, fresh: true,
		before: machine{at: start, cpus: map[int]cpuTimes{0: {}, 1: {idle: 100 * ms, stolen: 10 * ms}},
			softirqd: map[int]time.Duration{0: 0, 1: 5 * ms}},
		after: machine{at: start.Add(1000 * ms), cpus: map[int]cpuTimes{0: {idle: 900 * ms},
			1: {idle: 300 * ms, stolen: 60 * ms, softirq: 500 * ms}},
			softirqd: map[int]time.Duration{0: 0, 1: 25 * ms}},
		ended: []processUse{
			{use: use{Ran: 200 * ms, Delay: 90 * ms}, Space: clientSpace, CPUs: []int{1}, Known: true, Lived: 800 * ms},
			{use: use{Ran: 100 * ms, Delay: 30 * ms}, Space: serverSpace, CPUs: []int{1}, Known: true, Lived: 900 * ms},
			{use: use{Ran: 7 * ms}, Space: serverSpace}, // a helper that was bound to no CPU
		},
		wires: []WireStats{{Packets: 5, LatenessP99: ms}, {Packets: 9, LatenessP99: 2 * ms},
			{LatenessP99: time.Second}},
		threads: []threadUse{{use: use{Ran: 150 * ms, Delay: 3 * ms}, CPUs: []int{1}},
			{use: use{Ran: 40 * ms, Delay: 4 * ms}, CPUs: []int{0}}},
	}
	g := w.contention()
	// 1000 - 200 idle - 50 stolen - 20 in interrupts - 300 of the processes - 150 of the wires.
	if !g.Shared || g.Client.Others != 280*ms || !g.Client.OthersKnown {
		t.Errorf("%+v", g)
	}
	if g.Client.Ran != 200*ms || g.Client.Delay != 90*ms || g.Client.Lived != 800*ms || g.Server.Delay != 30*ms ||
		!g.Server.DelayKnown {
		t.Errorf("%+v", g)
	}
	if g.MachineOthers != 280*ms+100*ms-7*ms-40*ms || g.Softirq != 500*ms {
		t.Errorf("machine %v, in interrupts %v", g.MachineOthers, g.Softirq)
	}
	if g.Wire == nil || g.Wire.Packets != 9 || g.Wire.Delay != 7*ms {
		t.Errorf("%+v", g.Wire)
	}
	// A container does not show the kernel's threads: all time in interrupts may be the trial's.
	w.before.softirqd = nil
	if g := w.contention(); g.Client.Others != 0 {
		t.Errorf("%+v", g)
	}
	// If the wires' threads cannot be read, the other programs' time is not known.
	w.fresh = false
	if g := w.contention(); g.Client.OthersKnown || g.Client.DelayKnown {
		t.Errorf("%+v", g)
	}
}

// TestRecentWireStats: a trial's lateness does not include earlier trials.
func TestRecentWireStats(t *testing.T) {
	var c wireCounts
	c.forwarded(1_000_000)
	if s := c.since(); s.Packets != 1 || s.LatenessMax != time.Millisecond {
		t.Errorf("%+v", s)
	}
	for range 100 {
		c.forwarded(300)
	}
	if s := c.since(); s.Packets != 100 || s.LatenessMax != 300 || s.LatenessP99 != 300 {
		t.Errorf("%+v", s)
	}
	if s := c.since(); s.Packets != 0 || s.LatenessMax != 0 {
		t.Errorf("%+v", s)
	}
	if s := c.stats(); s.Packets != 101 || s.LatenessMax != time.Millisecond {
		t.Errorf("since the start: %+v", s)
	}
}

// TestWatch: a process that has ended is accounted for once, with its CPU time and its run delay.
func TestWatch(t *testing.T) {
	l := openLab(t, Options{})
	client, server := build(t, l, "a", path("bridge"))
	cpus := l.Facts().CPUs
	one := cpus[len(cpus)-1:]
	begun := time.Now()
	end := l.Watch("a", one, one)
	t.Logf("the look before took %v", time.Since(begun))
	doOn(t, client, one)
	doOn(t, server, one)
	begun = time.Now()
	g := end()
	t.Logf("the look after took %v", time.Since(begun))
	if g.Window <= 0 || !g.Shared || g.Client.Ran <= 0 || g.Server.Ran <= 0 || g.Client.Lived <= 0 || !g.Client.Pinned {
		t.Fatalf("%+v", g)
	}
	if l.Facts().FreshProc && (!g.Client.DelayKnown || !g.Client.OthersKnown) {
		t.Errorf("a shell has one thread, which the kernel still knows before it is reaped: %+v", g)
	}
	if again := l.Watch("a", one, one)(); again.Client.Ran != 0 {
		t.Errorf("what ended before is counted again: %+v", again)
	}
}

// doOn runs a shell on the CPUs that counts and ends.
func doOn(t *testing.T, h host.Host, cpus []int) {
	t.Helper()
	p, err := h.Start(t.Context(), host.Cmd{Argv: []string{"sh", "-c",
		"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"}, CPUs: cpus})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}
