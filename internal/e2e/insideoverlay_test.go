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
	declared "nearfar/internal/declare/inside"
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

// unshared is a tunnel end behind a router of the underlay. TCP, which may have to send a packet again, holds its
// buffer. A router changes the packet, and the kernel copies such a buffer for that. The tunnel's device gives the copy
// to GRO; a buffer that is held it would put into a CPU's backlog.
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

// tunnelRules are firewalls in an underlay, where each packet passes all rules (docs/lab.md).
const tunnelRules = `
nearfar: v1
name: inside-rules
baseline: r10
arms:
  r10: {lab: {path: [vtep, {firewall: {rules: 10}}, bridge, vtep]}}
  r100: {lab: {path: [vtep, {firewall: {rules: 100}}, bridge, vtep]}}
  r300: {lab: {path: [vtep, {firewall: {rules: 300}}, bridge, vtep]}}
  r1000: {lab: {path: [vtep, {firewall: {rules: 1000}}, bridge, vtep]}}
workloads:
  - {name: rr, tool: native, mode: rr, inside: true, duration: 300ms, warmup: 50ms, placement: shared}
schedule: {blocks: 6, baseline_repeats: 1, seed: 1}
`

// TestInsideRules: 10, 100, 300 and 1,000 rules of a VTEP take their time where it sends encapsulated packets and where
// it receives them, and nowhere else. That time is proportional to their number.
func TestInsideRules(t *testing.T) {
	needsWatching(t)
	here := func(s declared.Step) bool {
		return s.Place == "0-vtep" && (s.Kind == declared.Encapsulate || s.Kind == declared.Decapsulate)
	}
	way := wayOf([]hop{entrance("0-vtep"), bridged("2-bridge"), exit("3-vtep")})
	wantTruthOf(t, func(int) answer.Answer {
		return measure(t, tunnelRules, "--force")
	}, func(a answer.Answer) (wrong []string) {
		in := insideOf(t, a)
		for _, arm := range in.Arms {
			wrong = append(wrong, wantSeen(t, arm, way)...)
		}
		most := addedIn(t, in, "r1000", here, &wrong)
		const few, many = 10, 1000
		each := most / (many - few)
		t.Logf("a rule takes %.2f ns", each*1e9/2)
		for _, rules := range []int{100, 300} {
			added, want := addedIn(t, in, fmt.Sprint("r", rules), here, &wrong), each*float64(rules-few)
			if math.Abs(added-want) > max(want/4, 0.2e-6) {
				wrong = append(wrong, fmt.Sprintf("%d rules more add %.2f us, and %d add %.2f us", rules-few, added*1e6,
					many-few, most*1e6))
			}
		}
		others := wantNowhereElse(t, in, "r1000", here, most, &wrong)
		if math.Abs(others) > most/4 {
			wrong = append(wrong, fmt.Sprintf("%d more rules add %.2f us where they are, and %.2f us elsewhere", many-few,
				most*1e6, others*1e6))
		}
		return wrong
	})
}

// fiftyOfWire are the same path with a wire of no delay and with one of 50 us.
const fiftyOfWire = `
nearfar: v1
name: inside-wire
baseline: near
arms:
  near: {lab: {path: [bridge, {wire: {delay: 0s}}, bridge]}}
  far: {lab: {path: [bridge, {wire: {delay: 50us}}, bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, inside: true, duration: 300ms, warmup: 50ms, placement: shared}
schedule: {blocks: 6, baseline_repeats: 1, seed: 1}
`

// TestInsideWire: a wire of 50 us shows as 50 +- 2 us in its own elements in each direction, and in no other. Kernels
// without netem have it in a process: then it is an element of its own, and else it waits in the queue of its port.
func TestInsideWire(t *testing.T) {
	needsWatching(t)
	wantTruthOf(t, func(int) answer.Answer {
		return measure(t, fiftyOfWire, "--force")
	}, func(a answer.Answer) (wrong []string) {
		own := map[string]float64{}
		for _, e := range against(t, insideOf(t, a), "far").Elements {
			if e.Only != "" {
				t.Errorf("only one arm has %s", inside.Name(e.Step))
			}
			said := fmt.Sprintf("%s changes by %+.2f us", inside.Name(e.Step), e.Median*1e6)
			switch {
			case e.Place == "1-wire":
				own[e.Way] += e.Median
				t.Log(said)
			case e.Kind != declared.Wake && e.Kind != declared.RunQueue && math.Abs(e.Median) > 2e-6:
				wrong = append(wrong, said)
			}
		}
		for _, way := range []string{declared.Request, declared.Reply} {
			if math.Abs(own[way]-50e-6) > 2e-6 {
				wrong = append(wrong, fmt.Sprintf("the wire of 50 us adds %.2f us to its elements of the %s", own[way]*1e6, way))
			}
		}
		return wrong
	})
}
