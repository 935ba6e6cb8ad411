//go:build linux

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/inside"
)

// watchedOverlay is labs/overlay with its own workload of nearfar's engine, watched, in a few short trials.
func watchedOverlay(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "labs", "overlay", "experiment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	arms, _, found := strings.Cut(string(text), "\nworkloads:")
	if !found {
		t.Fatal("labs/overlay has no workloads")
	}
	return arms + `
workloads:
  - {name: rr-1k, tool: native, mode: rr, protocol: tcp, request: 1024B, response: 1024B, inside: true,
     duration: 150ms, warmup: 50ms}
additive_within: 10%
schedule: {blocks: 6, baseline_repeats: 1, seed: 1}
`
}

// routing is a hypervisor with a distributed router: between the segment of its host and that of the tunnel.
func routing(place string) hop {
	return hopOf(place,
		[]string{"softirq", "bridge", "forward", "queue", "bridge", "queue", "encapsulate", "queue", "device"},
		[]string{"softirq", "decapsulate", "softirq", "bridge", "forward", "queue", "bridge", "queue", "device"})
}

// unshared is a tunnel end behind a router of the underlay. TCP, which may have to send a packet again, holds its buffer.
// A router changes the packet, and the kernel copies such a buffer for that. The tunnel's device gives the copy to GRO;
// a buffer that is held it would put into a CPU's backlog.
func unshared(h hop) hop {
	merged := func(elements []string) []string {
		all := slices.Clone(elements)
		for i := 1; i < len(all); i++ {
			if strings.HasPrefix(all[i-1], "decapsulate ") {
				all[i] = strings.Replace(all[i], "softirq", "gro", 1)
			}
		}
		return all
	}
	return hop{merged(h.request), merged(h.reply)}
}

// overlayHops are the places of the arms of labs/overlay.
func overlayHops() map[string][]hop {
	return map[string][]hop{
		"l2":         {bridged("0-bridge")},
		"switched":   {bridged("0-bridge"), bridged("1-bridge")},
		"routed":     {bridged("0-bridge"), routed("1-router"), bridged("2-bridge")},
		"vxlan-flat": {entrance("0-vtep"), bridged("1-bridge"), exit("2-vtep")},
		"vxlan": {
			unshared(entrance("0-vtep")), bridged("1-bridge"), routed("2-router"), bridged("3-bridge"),
			unshared(exit("4-vtep")),
		},
		"dlr": {
			unshared(routing("0-dlr-vtep")), bridged("2-bridge"), routed("3-router"), bridged("4-bridge"),
			unshared(exit("5-vtep")),
		},
		"firewall": {bridged("1-bridge")},
		"full": {
			unshared(routing("1-dlr-vtep")), bridged("3-bridge"), routed("4-router"), bridged("5-bridge"),
			unshared(exit("6-vtep")),
		},
	}
}

// TestInsideOverlay watches labs/overlay: each element is seen in the arms that have it, in its place and order, and in
// no other. The elements of a trip sum to the round trip that the tool reports. What a switch, a router, VTEPs, a
// distributed router and a firewall cost is said by both methods, with intervals, and where they disagree, what else
// changed.
func TestInsideOverlay(t *testing.T) {
	needsWatching(t)
	hops := overlayHops()
	wantTruthOf(t, func(int) answer.Answer {
		return measure(t, watchedOverlay(t), "--force") // six blocks are enough for intervals of medians
	}, func(a answer.Answer) (wrong []string) {
		in := insideOf(t, a)
		if len(in.Arms) != len(hops) {
			t.Errorf("%d arms, want %d", len(in.Arms), len(hops))
		}
		for _, arm := range in.Arms {
			wrong = append(wrong, wantSeen(t, arm, wayOf(hops[arm.Arm]))...)
			wrong = append(wrong, wantSum(t, arm)...)
		}
		return append(wrong, wantBothMethods(t, in)...)
	})
}

// wantSum says what is wrong if the elements of an arm sum to another time than the followed round trips took, or if
// these took another time than the tool reports. It reports all trips, and only those that are followed have the time
// of recording their events: about 7 % of a trip.
func wantSum(t *testing.T, arm inside.Arm) (wrong []string) {
	t.Helper()
	const within, recording = 0.02, 0.15
	m := arm.Machines[0]
	if arm.Ratio == nil || m.Sum == nil {
		return []string{arm.Arm + ": the elements have no sum"}
	}
	sum := 0.0
	for _, e := range m.Elements {
		sum += e.Median
	}
	t.Logf("%s: the elements sum to %.2f us; a followed trip takes %.2f us, %.1f %% of what the tool reports", arm.Arm,
		sum*1e6, m.Sum.Median*1e6, 100*arm.Ratio.Median)
	if math.Abs(sum-m.Sum.Median) > within*m.Sum.Median {
		wrong = append(wrong, fmt.Sprintf("%s: the elements sum to %.2f us, and a trip takes %.2f us", arm.Arm, sum*1e6,
			m.Sum.Median*1e6))
	}
	if r := arm.Ratio.Median; r < 1-2*within || r > 1+recording {
		wrong = append(wrong, fmt.Sprintf("%s: a followed trip takes %.1f %% of what the tool reports", arm.Arm, 100*r))
	}
	return wrong
}

// wantBothMethods wants the cost of each layer by both methods, from the arms that differ in it alone.
func wantBothMethods(t *testing.T, in inside.Inside) (wrong []string) {
	t.Helper()
	want := map[string]string{
		"switched": "bridge less l2", "routed": "router less switched", "vxlan-flat": "2 vtep less l2",
		"vxlan": "2 vtep less routed", "dlr": "dlr less vxlan", "firewall": "firewall less l2", "full": "firewall less dlr",
	}
	if len(in.Layers) != len(want) {
		t.Errorf("%d layers were compared, want %d", len(in.Layers), len(want))
	}
	for _, l := range in.Layers {
		if got := l.Name() + " less " + l.Other; got != want[l.Arm] {
			t.Errorf("%s is compared as %s, want %s", l.Arm, got, want[l.Arm])
		}
		if l.Own == nil || l.Corrected == nil || l.Subtracted == nil || l.Attributed == nil ||
			l.Corrected.Interval == nil || l.Subtracted.Interval == nil || l.Attributed.Interval == nil {
			t.Errorf("%s: a method or its interval is missing: %+v", l.Arm, l)
			continue
		}
		t.Logf("%s, %s less %s: elements %s, without recording %s, by subtraction %s, over all arms %s%s", l.Name(), l.Arm,
			l.Other, withInterval(l.Own), withInterval(l.Corrected), withInterval(l.Subtracted),
			withInterval(l.Attributed), said(l.Disagree))
		ratio := l.Corrected.Median / l.Subtracted.Median
		if l.Disagree != "" && (ratio < 0.5 || ratio > 2) {
			wrong = append(wrong, l.Arm+": "+l.Disagree)
		}
	}
	return wrong
}

func said(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// withInterval writes a measure in microseconds.
func withInterval(m *inside.Measure) string {
	text := fmt.Sprintf("%.2f us", m.Median*1e6)
	if m.Interval != nil {
		text += fmt.Sprintf(" [%.2f, %.2f]", m.Interval[0]*1e6, m.Interval[1]*1e6)
	}
	return text
}
