package lab

import (
	"testing"
	"time"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// TestOthersOnTheCPUs: CPU time of the trial's processes, of the wires' threads and of software interrupts does not
// count as other programs', and neither does steal time.
func TestOthersOnTheCPUs(t *testing.T) {
	const ms = time.Millisecond
	start := time.Now()
	w := &watched{
		cpus: []int{1}, client: []int{1}, server: []int{1}, all: []int{0, 1}, fresh: true,
		before: machine.State{At: start, CPUs: map[int]machine.CPUTimes{0: {}, 1: {Idle: 100 * ms, Stolen: 10 * ms}},
			Softirqd: map[int]time.Duration{0: 0, 1: 5 * ms}},
		after: machine.State{At: start.Add(1000 * ms), CPUs: map[int]machine.CPUTimes{0: {Idle: 900 * ms},
			1: {Idle: 300 * ms, Stolen: 60 * ms, Softirq: 500 * ms}},
			Softirqd: map[int]time.Duration{0: 0, 1: 25 * ms}},
		ended: []processUse{
			{Use: machine.Use{Ran: 200 * ms, Delay: 90 * ms}, Space: clientSpace, CPUs: []int{1}, Known: true, Lived: 800 * ms},
			{Use: machine.Use{Ran: 100 * ms, Delay: 30 * ms}, Space: serverSpace, CPUs: []int{1}, Known: true, Lived: 900 * ms},
			{Use: machine.Use{Ran: 7 * ms}, Space: serverSpace}, // a helper that was bound to no CPU
		},
		wires: []WireStats{{Packets: 5, LatenessP99: ms}, {Packets: 9, LatenessP99: 2 * ms},
			{LatenessP99: time.Second}},
		threads: []threadUse{{Use: machine.Use{Ran: 150 * ms, Delay: 3 * ms}, CPUs: []int{1}},
			{Use: machine.Use{Ran: 40 * ms, Delay: 4 * ms}, CPUs: []int{0}}},
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
	w.before.Softirqd = nil
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
