package experiment

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultMTU is the MTU of a lab's underlay in bytes, if the file gives none.
const DefaultMTU = 1500

// The bounds of an arm.
const (
	maxPath      = 64
	maxRules     = 100_000
	defaultRules = 100
	maxDelay     = 10 * time.Second
	delayStep    = time.Microsecond // the kernel's netem takes whole microseconds
	minWireRate  = 8e3              // bit/s: a full frame then takes 1.5 s
	maxWireRate  = 1e12             // bit/s
	minMTU       = 576              // bytes: what every IPv4 host takes (RFC 791)
	maxMTU       = 9216
	vxlanBytes   = 50 // Ethernet 14, IPv4 20, UDP 8, VXLAN 8 (RFC 7348)
	maxCount     = 1000
)

// ElementKinds are the kinds of path elements.
func ElementKinds() []string { return []string{Bridge, Router, VTEP, DLR, Firewall, Wire} }

func (l *Lab) has(kind string) bool {
	return slices.ContainsFunc(l.Path, func(e Element) bool { return e.Kind == kind })
}

// NewElement is an element without parameters.
func NewElement(kind string) Element {
	e := Element{Kind: kind}
	if kind == Firewall {
		e.Rules = defaultRules
	}
	return e
}

// maxHops is how many times a packet can be routed between two hosts: it starts with 64 hops left (the kernel's
// default) and the router that takes the last one drops it.
const maxHops = 63

// routedHops counts the hops between the hosts. Routers inside a tunnel do not count: they see the outer packet, and no
// path has so many of them that its TTL runs out.
func routedHops(path []Element) int {
	hops, tunnelled := 0, false
	for _, e := range path {
		switch {
		case e.Kind == VTEP:
			tunnelled = !tunnelled
		case !tunnelled && (e.Kind == Router || e.Kind == DLR):
			hops++
		}
	}
	return hops
}

// misplacement is an element at a position that is not allowed: what is wrong, and what would be right.
type misplacement struct {
	at         int
	hint, text string
}

// misplaced finds the elements at positions that are not allowed: firewalls stand where packets pass an IP stack, VTEPs
// come in pairs, and logical routers stand between a host and its VTEP.
func misplaced(path []Element) []misplacement {
	var wrong []misplacement
	var vteps []int
	for i, e := range path {
		if e.Kind == VTEP {
			vteps = append(vteps, i)
		}
	}
	if len(vteps)%2 == 1 {
		// Without pairs, the VTEP of a logical router is not known.
		return append(wrong,
			misplacement{vteps[len(vteps)-1],
				"one encapsulates and another takes out again, for example [vtep, bridge, vtep]",
				"VTEPs come in pairs, and this one has no partner"})
	}
	for i, e := range path {
		if _, ok := FirewallAt(path, i); e.Kind == Firewall && !ok {
			wrong = append(wrong, misplacement{i,
				"put it first or last (at a host), or beside a router or a dlr, for example [bridge, firewall, " +
					"router, bridge]",
				"a firewall filters IP packets, and neither of its neighbours handles any"})
		}
		if e.Kind == DLR && !insideHypervisor(vteps, i) {
			wrong = append(wrong,
				misplacement{i, "put it right beside a VTEP on the host's side, for example [dlr, vtep, bridge, vtep]",
					"a dlr routes inside a hypervisor, between a host and its VTEP"})
		}
	}
	return wrong
}

// insideHypervisor reports whether element i is directly before a VTEP that opens a tunnel, or directly behind one that
// closes it. VTEPs open and close tunnels in turn.
func insideHypervisor(vteps []int, i int) bool {
	before, after := slices.Index(vteps, i-1), slices.Index(vteps, i+1)
	return after >= 0 && after%2 == 0 || before >= 0 && before%2 == 1
}

// How an element handles the packets that pass the firewall next to it.
const (
	noIP     = iota // it forwards frames and looks at no IP header
	routesIP        // it forwards IP packets
	endsIP          // IP packets begin and end there
)

// FirewallAt says where the firewall at index i of a path filters packets: at the neighbour with the returned index,
// towards that neighbour. -1 is the client, len(path) the server. Several firewalls in a row have the same neighbours.
//
// If both neighbours handle IP packets, one where packets end comes first (a host, or a VTEP towards its underlay),
// because a distributed firewall guards a host's port; then the neighbour towards the client. ok is false if neither
// handles any: the kernel's bridges have no connection tracking on many machines.
func FirewallAt(path []Element, i int) (neighbour int, ok bool) {
	left, right := i-1, i+1
	for left >= 0 && path[left].Kind == Firewall {
		left--
	}
	for right < len(path) && path[right].Kind == Firewall {
		right++
	}
	l, r := ipBeside(path, left, i), ipBeside(path, right, i)
	switch {
	case l == noIP && r == noIP:
		return 0, false
	case r > l:
		return right, true
	}
	return left, true
}

// ipBeside says how the element at index n handles packets on its side towards index i.
func ipBeside(path []Element, n, i int) int {
	if n < 0 || n == len(path) {
		return endsIP
	}
	switch path[n].Kind {
	case Router, DLR:
		return routesIP
	case VTEP:
		opens := true // VTEPs open and close tunnels in turn
		for _, e := range path[:n] {
			if e.Kind == VTEP {
				opens = !opens
			}
		}
		if opens == (i > n) { // towards the underlay
			return endsIP
		}
	}
	return noIP
}

// Text describes an element of a path for people: "firewall (100 rules)".
func (e Element) Text() string {
	var with []string
	if e.Kind == Firewall {
		with = append(with, strconv.Itoa(e.Rules)+" rules")
	}
	if e.Delay > 0 {
		with = append(with, e.Delay.String()+" each way")
	}
	if e.Rate > 0 {
		with = append(with, strconv.FormatFloat(e.Rate/1e6, 'g', 6, 64)+" Mbit/s")
	}
	if e.Loss > 0 {
		with = append(with, strconv.FormatFloat(100*e.Loss, 'g', 4, 64)+" % loss")
	}
	if len(with) == 0 {
		return e.Kind
	}
	return e.Kind + " (" + strings.Join(with, ", ") + ")"
}

// PathsDiffer says that all arms are labs, and that not all have the same path.
func (e *Experiment) PathsDiffer() bool {
	differ := false
	for _, a := range e.Arms {
		if a.Lab == nil {
			return false
		}
		differ = differ || a.PathText() != e.Arms[0].PathText()
	}
	return differ
}

// PathText describes the path of a lab in a line: "bridge, router, bridge". It is empty for other arms.
func (a Arm) PathText() string {
	if a.Lab == nil {
		return ""
	}
	texts := make([]string, len(a.Lab.Path))
	for i, element := range a.Lab.Path {
		texts[i] = element.Text()
	}
	return strings.Join(texts, ", ")
}
