//go:build linux

package e2e

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/inside"
	declared "nearfar/internal/declare/inside"
)

// insideLabs are paths whose elements differ.
const insideLabs = `
nearfar: v1
name: inside
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  few: {lab: {path: [{firewall: {rules: 1}}, bridge]}}
  many: {lab: {path: [{firewall: {rules: 1000}}, bridge]}}
  vxlan: {lab: {path: [vtep, bridge, vtep]}}
  routed: {lab: {path: [bridge, router, bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, inside: true, duration: 300ms, warmup: 50ms, placement: shared}
schedule: {blocks: 5, baseline_repeats: 1, seed: 1}
`

// TestInsideLab watches round trips in labs: every element of each path is seen, in its place and order, and a firewall
// acts where its rules are, at the client. Its rules pass packets of open connections before the others, so that their
// number adds nothing to a round trip (docs/lab.md).
//
// Both sides are on one CPU, where threads wait least for it. How long they do is of the machine, and not of the path:
// waking and waiting are not judged.
func TestInsideLab(t *testing.T) {
	needsWatching(t)
	hops := map[string][]hop{
		"l2":     {bridged("0-bridge")},
		"few":    {bridged("1-bridge")},
		"many":   {bridged("1-bridge")},
		"vxlan":  {entrance("0-vtep"), bridged("1-bridge"), exit("2-vtep")},
		"routed": {bridged("0-bridge"), routed("1-router"), bridged("2-bridge")},
	}
	wantTruthOf(t, func(int) answer.Answer {
		return measure(t, insideLabs, "--force") // five blocks find no difference, and the medians are enough
	}, func(a answer.Answer) (wrong []string) {
		in := insideOf(t, a)
		for _, arm := range in.Arms {
			wrong = append(wrong, wantSeen(t, arm, wayOf(hops[arm.Arm]))...)
		}
		few := addedIn(t, in, "few", atTheClient, &wrong)
		many := addedIn(t, in, "many", atTheClient, &wrong)
		wantNowhereElse(t, in, "few", atTheClient, few, &wrong)
		wantNowhereElse(t, in, "many", atTheClient, many, &wrong)
		if math.Abs(many-few) > max(few, many)/2 {
			wrong = append(wrong, fmt.Sprintf("999 more rules, which no packet of an open connection meets, change "+
				"the firewall's elements from %.2f to %.2f us", few*1e6, many*1e6))
		}
		wantOwn(t, in, "few")
		wantOwn(t, in, "many")
		wantOwn(t, in, "vxlan", declared.Encapsulate, declared.Decapsulate)
		wantOwn(t, in, "routed", declared.Forward)
		return wrong
	})
}

// wantOwn fails the test unless an arm has elements of its own, among them all of these kinds.
func wantOwn(t *testing.T, in inside.Inside, arm string, kinds ...declared.Kind) {
	t.Helper()
	x := against(t, in, arm)
	if x.Own == nil || x.Own.Median <= 0 {
		t.Errorf("%s: the arm's own elements take %+v", arm, x.Own)
	}
	for _, e := range x.Elements {
		if slices.Contains(kinds, e.Kind) && (e.Only != inside.OnlyArm || !e.Own || e.Median <= 0) {
			t.Errorf("%s: %s is not the arm's own: %+v", arm, inside.Name(e.Step), e)
		}
	}
}

// needsWatching skips a test where no kernel can be watched.
func needsWatching(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("an ordinary user cannot watch the kernel")
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skipf("the kernel has no type information: %v", err)
	}
}

// insideOf is the inside of the path of the only workload.
func insideOf(t *testing.T, a answer.Answer) inside.Inside {
	t.Helper()
	if len(a.Inside) != 1 {
		t.Fatalf("%d workloads were watched, want 1", len(a.Inside))
	}
	return a.Inside[0]
}

// against says where the difference of an arm arises.
func against(t *testing.T, in inside.Inside, arm string) inside.Against {
	t.Helper()
	i := slices.IndexFunc(in.Against, func(x inside.Against) bool { return x.Arm == arm })
	if i < 0 {
		t.Fatalf("nothing is said of the difference of %s: %+v", arm, in.Arms)
	}
	return in.Against[i]
}

// A hop lists the elements that a packet passes in one place: those of a request, and those of a reply, each in order.
type hop struct{ request, reply []string }

func hopOf(place string, request, reply []string) hop {
	at := func(kinds []string) (all []string) {
		for _, kind := range kinds {
			all = append(all, kind+" "+place)
		}
		return all
	}
	return hop{at(request), at(reply)}
}

func bridged(place string) hop {
	kinds := []string{"softirq", "bridge", "queue", "device"}
	return hopOf(place, kinds, kinds)
}

func routed(place string) hop {
	kinds := []string{"softirq", "forward", "queue", "device"}
	return hopOf(place, kinds, kinds)
}

// packed and unpacked are the two ways through a VTEP.
func packed() []string {
	return []string{"softirq", "bridge", "queue", "encapsulate", "queue", "device"}
}

func unpacked() []string {
	return []string{"softirq", "decapsulate", "softirq", "bridge", "queue", "device"}
}

func entrance(place string) hop { return hopOf(place, packed(), unpacked()) }
func exit(place string) hop     { return hopOf(place, unpacked(), packed()) }

// wayOf lists all elements of a round trip between two hosts, as kinds and places.
func wayOf(hops []hop) (all []string) {
	oneWay := func(from, to string, between [][]string) {
		all = append(all, "send "+from, "queue "+from, "device "+from)
		for _, elements := range between {
			all = append(all, elements...)
		}
		for _, kind := range []string{"softirq", "deliver", "wake", "run-queue", "read", "return"} {
			all = append(all, kind+" "+to)
		}
	}
	var there, back [][]string
	for _, h := range hops {
		there, back = append(there, h.request), append(back, h.reply)
	}
	slices.Reverse(back)
	oneWay("client", "server", there)
	all = append(all, "program server")
	oneWay("server", "client", back)
	return all
}

// wantSeen fails the test if another path was seen of an arm, and says what else is wrong.
func wantSeen(t *testing.T, arm inside.Arm, way []string) (wrong []string) {
	t.Helper()
	if len(arm.Problems) > 0 || len(arm.Machines) != 1 || arm.Machines[0].Side != declared.Both {
		t.Fatalf("%s: not seen by one kernel: %+v", arm.Arm, arm)
	}
	m := arm.Machines[0]
	var seen []string
	for _, e := range m.Elements {
		seen = append(seen, string(e.Kind)+" "+e.Place)
	}
	if !slices.Equal(seen, way) {
		t.Errorf("%s: the path is\n%s\nwant\n%s", arm.Arm, strings.Join(seen, ", "), strings.Join(way, ", "))
	}
	t.Logf("%s: %d of %d trips complete, %d lost, %d paths, %.0f %% took the first; sum %.2f us", arm.Arm, m.Complete,
		m.Sampled, m.Lost, m.Paths, 100*m.Share, m.Sum.Median*1e6)
	if m.Sampled == 0 || float64(m.Complete) < 0.95*float64(m.Sampled) || m.Lost > 0 {
		wrong = append(wrong, fmt.Sprintf("%s: %d of %d trips are complete, %d lost", arm.Arm, m.Complete, m.Sampled,
			m.Lost))
	}
	return wrong
}

// atTheClient says that a firewall of the client acts in an element.
func atTheClient(e declared.Step) bool {
	return e.Place == declared.Client && (e.Kind == declared.Send || e.Kind == declared.Deliver)
}

// addedIn is how much slower an arm is in two elements, each of which must be slower.
func addedIn(
	t *testing.T, in inside.Inside, arm string, here func(declared.Step) bool, wrong *[]string,
) (added float64) {
	t.Helper()
	seen := 0
	x := against(t, in, arm)
	for _, e := range x.Elements {
		if !here(e.Step) {
			continue
		}
		seen++
		added += e.Median
		said := fmt.Sprintf("%s: %s changes by %+.2f us", arm, inside.Name(e.Step), e.Median*1e6)
		t.Log(said)
		if e.Median <= 0 {
			*wrong = append(*wrong, said)
		}
	}
	if seen != 2 {
		t.Errorf("%s: %d elements are where the firewall acts, want 2: %+v", arm, seen, x.Elements)
	}
	return added
}

// wantNowhereElse wants no other element of an arm to change by more than a share of what is added. It gives the change
// of all of them together. How long threads wait for a CPU is not judged.
func wantNowhereElse(
	t *testing.T, in inside.Inside, arm string, here func(declared.Step) bool, added float64, wrong *[]string,
) (others float64) {
	t.Helper()
	const share = 0.3
	for _, e := range against(t, in, arm).Elements {
		if e.Only != "" {
			t.Errorf("%s: only one arm has %s", arm, inside.Name(e.Step))
		}
		if here(e.Step) || e.Kind == declared.Wake || e.Kind == declared.RunQueue {
			continue
		}
		others += e.Median
		if math.Abs(e.Median) > share*added {
			*wrong = append(*wrong, fmt.Sprintf("%s: %s changes by %+.2f us, the firewall's elements by %+.2f us", arm,
				inside.Name(e.Step), e.Median*1e6, added*1e6))
		}
	}
	t.Logf("%s: the firewall's elements change by %+.2f us, all others by %+.2f us", arm, added*1e6, others*1e6)
	return others
}
