package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Pair is a fact of two hosts that is known of both.
type Pair struct {
	// Fact is its path in Facts: "kernel", "path.mtu". "device" stands for the device of the path, and "enslaved" for
	// the devices enslaved to it, whatever their names are.
	Fact string
	// Name is the fact in words.
	Name string
	// A and B are the values of the two hosts, as texts.
	A, B string
	// Differs is false if the values mean the same, although the texts can differ.
	Differs bool
	// Matters says that the fact is known to change figures.
	Matters bool
}

// Compare compares the facts that can change figures: the system, the processors, the network devices of the path, the
// path, and the limits. It leaves out facts that differ between any two hosts, such as names, addresses, counters,
// times and load (see comparedFacts), and facts that are not known for both hosts. The facts that matter come first.
func Compare(a, b *Facts) []Pair {
	if a == nil || b == nil {
		return nil
	}
	var all []Pair
	for _, c := range comparedFacts() {
		of, other := c.values(a), c.values(b)
		for _, key := range keysOf(of, other) {
			x, inX := of[key]
			y, inY := other[key]
			if c.absent != "" && len(of) > 0 && len(other) > 0 {
				x, y = valueOr(x, inX, c.absent), valueOr(y, inY, c.absent)
			}
			if x == "" || y == "" {
				continue
			}
			p := Pair{Fact: c.fact, Name: c.name, A: shortened(x), B: shortened(y), Differs: x != y, Matters: c.matters}
			if key != "" {
				p.Fact, p.Name = c.fact+"."+key, c.name+" "+key
			}
			if p.Fact == congestionFact {
				p.Name, p.Matters = "default congestion control", true
			}
			if c.about > 0 && p.Differs {
				p.Differs = !near(x, y, c.about)
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(p, q Pair) int { return rank(p) - rank(q) })
	return withoutRepetitions(all)
}

// congestionFact is the only setting of the kernel that is known to matter.
const congestionFact = "settings.ipv4/tcp_congestion_control"

// maxKeys bounds the entries that are compared of one map of facts, maxValue the length of a value in bytes. Hosts
// choose both.
const (
	maxKeys  = 200
	maxValue = 200
)

// compared is a fact that is compared, or a map of facts.
type compared struct {
	fact, name string
	matters    bool
	// values gives the value by key; the key is empty for a single fact. Values that are not known are empty or absent.
	values func(f *Facts) map[string]string
	// absent is the value of a key that a host does not list, if it lists others; empty if such a value is not known.
	absent string
	// about is the share by which two numbers may differ and still mean the same.
	about float64
}

// withoutRepetitions drops the MTU of the path if it is the device's on both hosts, and zone ids if the zones differ in
// the same way as the ids.
func withoutRepetitions(all []Pair) []Pair {
	at := func(fact string) (Pair, bool) {
		i := slices.IndexFunc(all, func(p Pair) bool { return p.Fact == fact })
		if i < 0 {
			return Pair{}, false
		}
		return all[i], true
	}
	path, inPath := at("path.mtu")
	device, inDevice := at("device.mtu")
	zone, inZone := at("where.zone")
	id, inID := at("where.zone_id")
	return slices.DeleteFunc(all, func(p Pair) bool {
		return p.Fact == "path.mtu" && inPath && inDevice && path.A == device.A && path.B == device.B ||
			p.Fact == "where.zone_id" && inZone && inID && zone.Differs && id.Differs
	})
}

func rank(p Pair) int {
	if p.Matters {
		return 0
	}
	return 1
}

func keysOf(a, b map[string]string) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	return keys[:min(len(keys), maxKeys)]
}

func valueOr(value string, known bool, absent string) string {
	if !known {
		return absent
	}
	return value
}

func shortened(value string) string {
	if len(value) <= maxValue {
		return value
	}
	return strings.ToValidUTF8(value[:maxValue], "\uFFFD") + " ..."
}

// near says whether two numbers with the same unit differ by at most a share of the larger one.
func near(x, y string, share float64) bool {
	var a, b float64
	if _, err := fmt.Sscan(x, &a); err != nil {
		return false
	}
	if _, err := fmt.Sscan(y, &b); err != nil {
		return false
	}
	return math.Abs(a-b) <= share*max(math.Abs(a), math.Abs(b))
}
