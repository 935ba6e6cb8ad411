package main

import (
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// testPair is a pair of hosts; only the server's address matters to the plans.
func testPair() host.Pair {
	return host.Pair{Server: host.Endpoint{Name: "bridge/server",
		Dial: host.Addresses{V4: netip.MustParseAddr("10.1.0.2")}}}
}

// The workloads of every row exist, run on the same CPUs, and their tools can plan them.
func TestRowsAreComplete(t *testing.T) {
	tools := newTools(nil)
	bounded := 0
	for _, g := range ratios(1) {
		byName := map[string]experiment.Workload{}
		for _, w := range g.Workloads {
			byName[w.Name] = w
			one, ok := tools.Lookup(w.Tool)
			if !ok {
				t.Fatalf("%s: no tool %s", w.Name, w.Tool)
			}
			if _, err := one.Plan(w, testPair()); err != nil {
				t.Errorf("%s: %v", w.Name, err)
			}
		}
		for _, r := range g.Rows {
			if r.Bound != nil {
				bounded++
			}
			ours, have := byName[r.Ours]
			theirs, found := byName[r.Theirs]
			if !found || !have && r.Missing == "" {
				t.Errorf("%s: no workload %q or %q", r.Work, r.Ours, r.Theirs)
				continue
			}
			if have && (ours.Placement.Kind != theirs.Placement.Kind || ours.Warmup != theirs.Warmup ||
				ours.Duration != theirs.Duration) {
				t.Errorf("%s: the two sides run differently: %+v, %+v", r.Work, ours, theirs)
			}
			if have && ours.Tool != "native" || theirs.Tool == "native" {
				t.Errorf("%s: ours is %s and theirs %s", r.Work, ours.Tool, theirs.Tool)
			}
		}
	}
	if bounded != 14 {
		t.Errorf("%d rows have a bound, want the 14 that must be shown", bounded)
	}
}

// The native engine's window is as long as sockperf's whole seconds without the part that sockperf leaves out.
func TestWindowsAreEqual(t *testing.T) {
	g := ratios(2)[0]
	if got := g.Workloads[0].Duration + sockperfCut; got != 2*time.Second {
		t.Errorf("window and cut come to %v", got)
	}
	p, err := pingPong{tool.NewSockperf()}.Plan(g.Workloads[1], testPair())
	if err != nil || !slices.Contains(p.Client.Argv, "2") {
		t.Errorf("sockperf runs %q, %v; want -t 2", p.Client.Argv, err)
	}
}

func TestOnly(t *testing.T) {
	kept := only(ratios(1), regexp.MustCompile("C loop"))
	if len(kept) != 1 || len(kept[0].Rows) != 1 || len(kept[0].Workloads) != 2 {
		t.Errorf("%+v", kept)
	}
	if all := only(groups(1), regexp.MustCompile("")); len(all) != len(groups(1)) {
		t.Errorf("an empty expression keeps %d of %d groups", len(all), len(groups(1)))
	}
}

func TestWithoutFloor(t *testing.T) {
	for _, g := range withoutFloor(ratios(1), errors.New("no compiler")) {
		for _, w := range g.Workloads {
			if w.Tool == floorName {
				t.Errorf("%s is still run", w.Name)
			}
		}
		for _, r := range g.Rows {
			if missing := r.Missing == "no compiler"; missing != (r.Against == "the shortest C loop") {
				t.Errorf("%s against %s: missing is %q", r.Work, r.Against, r.Missing)
			}
		}
	}
}

// netperf runs without latency statistics. The test fails if the tool's command line changes.
func TestBareNetperf(t *testing.T) {
	w := ratios(1)[3].Workloads[1]
	one, _ := newTools(nil).Lookup(w.Tool)
	p, err := one.Plan(w, testPair())
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range p.Client.Argv {
		if word == "-j" || regexp.MustCompile("LATENCY").MatchString(word) {
			t.Errorf("netperf is told %q", word)
		}
	}
}

func TestOtherBlocks(t *testing.T) {
	b := &bench{options: options{blocks: 4, seed: 1}}
	e := b.design(ratios(1)[0].Workloads, 4, 7)
	left := map[string]int{}
	done := map[int]bool{}
	for _, t := range otherBlocks(e, 3) {
		done[t.Trial] = true
	}
	for _, slot := range e.Slots() {
		if !done[slot.Trial] {
			left[slot.Workload]++
			if slot.Block != 3 {
				t.Errorf("block %d is left", slot.Block)
			}
		}
	}
	if len(left) != 3 || len(done) != 9 {
		t.Errorf("left %v, done %d", left, len(done))
	}
}
