package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
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

func armKeys() []string {
	return append([]string{"lab", "kubernetes", "client", "server", "layers", "expect", "set"},
		unbuiltHostKeys()...)
}

// unbuiltHostKeys are the keys for hosts that this build knows but does not support.
func unbuiltHostKeys() []string { return []string{"tofu"} }

func labKeys() []string { return []string{"path", "mtu"} }

func elementKinds() []string { return []string{Bridge, Router, VTEP, DLR, Firewall, Wire} }

// elementKeys are the parameters of a kind of path element.
func elementKeys(kind string) []string {
	switch kind {
	case Firewall:
		return []string{"rules"}
	case Wire:
		return []string{"delay", "rate", "loss"}
	}
	return nil
}

// parsedArm is an arm and its place in the file.
type parsedArm struct {
	Arm
	// key is the arm's name in the file.
	key *yaml.Node
	// layerKeys are where the declared layers stand.
	layerKeys map[string]*yaml.Node
	// set is the arm's key set; it has no value if the arm has none.
	set field
}

// arms reads the arms in the order of the file.
func (r *reader) arms(f fields) []parsedArm {
	const example = "arms: {l2: {lab: {path: [bridge]}}}"
	v, ok := r.required(f, "arms", example)
	if !ok || !r.isMapping(v.value, "arms") {
		return nil
	}
	if len(v.value.Content) == 0 {
		r.wrong(v.value, "write, for example, "+example, "there are no arms")
	}
	if n := len(v.value.Content) / 2; n > maxArms {
		r.wrong(v.key, "at most "+strconv.Itoa(maxArms), "there are %d arms", n)
		return nil
	}
	var arms []parsedArm
	lines := make(map[string]int)
	for key, value := range pairs(v.value) {
		if !r.isKey(key) || !r.name(key, "an arm", key.Value) {
			continue
		}
		if line, twice := lines[key.Value]; twice {
			r.wrong(key, "give each arm a name of its own", "arm %s is here twice; the first is in line %d",
				quote(key.Value), line)
			continue
		}
		lines[key.Value] = key.Line
		arms = append(arms, r.arm(key, value))
	}
	return arms
}

func (r *reader) arm(key, value *yaml.Node) parsedArm {
	a := parsedArm{Arm: Arm{Name: key.Value, Layers: map[string]int{}}, key: key, layerKeys: map[string]*yaml.Node{}}
	what := "arm " + quote(key.Value)
	if isNull(value) {
		r.noHosts(key, what)
		return a
	}
	f, ok := r.fields(value, key, what, armKeys())
	if !ok {
		return a
	}
	r.oneWayToHosts(f)
	if lab, ok := r.optional(f, "lab"); ok {
		a.Lab = r.lab(lab)
	}
	if v, given := f.named["kubernetes"]; given && isNull(v.value) {
		r.wrong(v.key, "write kubernetes: {} for pods on any two nodes", "kubernetes has no value")
		a.Kubernetes = &Kubernetes{Through: ThroughPod}
	} else if given {
		a.Kubernetes = r.kubernetes(f, v)
	}
	r.pair(&a, f)
	if layers, ok := r.optional(f, "layers"); ok {
		a.LayersDeclared = true
		r.layers(&a, layers.value)
	}
	if set, ok := r.optional(f, "set"); ok {
		a.set = set
	}
	if expect, ok := r.optional(f, "expect"); ok {
		r.expect(&a, expect)
	}
	return a
}

// oneWayToHosts checks that an arm has exactly one key for its hosts, and that this build supports it.
func (r *reader) oneWayToHosts(f fields) {
	var first string
	client := f.named["client"].key != nil
	for _, key := range []string{"lab", "kubernetes", "tofu", "client", "server"} {
		found, ok := f.named[key]
		switch {
		case !ok:
			continue
		case first == "":
			first = key
		case first == "kubernetes" && (key == "client" || key == "server"):
			if key == "server" && client { // one of the two can be a host, and the other a pod
				r.wrong(f.named[first].key, "leave out kubernetes, client or server",
					"%s names both hosts, so that there is no pod to make", f.what)
			}
		case key == "server" && client: // one way, and already reported if there is another
		default:
			r.wrong(found.key, "keep one of them", "%s makes its hosts in two ways, %s and %s", f.what, first, key)
		}
		if slices.Contains(unbuiltHostKeys(), key) {
			r.wrong(found.key, "write, for example, lab: {path: [bridge]}, kubernetes: {}, or client: vm-a, server: vm-b",
				"%s: this build has hosts only from lab and kubernetes, and by name", key)
		}
	}
	suspected := slices.ContainsFunc([]string{"lab", "kubernetes", "client", "server"},
		func(key string) bool { return f.suspected[key] })
	if first == "" && !suspected {
		r.noHosts(f.at, f.what)
	}
}

func (r *reader) noHosts(at *yaml.Node, what string) {
	r.wrong(at, "name them, for example client: vm-a, server: vm-b, or make them with lab: {path: [bridge]} or "+
		"kubernetes: {}", "%s has no hosts", what)
}

func (r *reader) lab(lab field) *Lab {
	l := &Lab{MTU: DefaultMTU}
	f, ok := r.fields(lab.value, lab.key, "lab", labKeys())
	if !ok {
		return l
	}
	if path, ok := r.required(f, "path", "path: [bridge]"); ok {
		l.Path = r.path(path.value)
	}
	mtu, ok := r.optional(f, "mtu")
	if !ok {
		return l
	}
	if n, ok := r.integer(mtu.value, "mtu", minMTU, maxMTU); ok {
		l.MTU = int(n)
	}
	if l.has(VTEP) && l.MTU < minMTU+vxlanBytes {
		r.wrong(mtu.value, "at least "+strconv.Itoa(minMTU+vxlanBytes), "mtu %d leaves no room for VXLAN", l.MTU)
	}
	return l
}

func (l *Lab) has(kind string) bool {
	return slices.ContainsFunc(l.Path, func(e Element) bool { return e.Kind == kind })
}

// path reads the elements from the client to the server, and checks that each is allowed at its position.
func (r *reader) path(n *yaml.Node) []Element {
	if !r.isSequence(n, "path", "[bridge, router, bridge]") {
		return nil
	}
	if len(n.Content) == 0 {
		r.wrong(n, "write, for example, path: [bridge]", "the path is empty")
		return nil
	}
	if len(n.Content) > maxPath {
		r.wrong(n, "at most "+strconv.Itoa(maxPath), "the path has %d elements", len(n.Content))
		return nil
	}
	var path []Element
	for _, child := range n.Content {
		element, ok := r.element(child)
		if ok {
			path = append(path, element)
		}
	}
	if len(path) == len(n.Content) {
		for _, m := range misplaced(path) {
			r.wrong(n.Content[m.at], m.hint, "%s", m.text)
		}
		if hops := routedHops(path); hops > maxHops {
			r.wrong(n, fmt.Sprintf("at most %d", maxHops), tooManyHops, hops)
		}
	}
	return path
}

// element reads bridge, or {wire: {delay: 50us}}.
func (r *reader) element(n *yaml.Node) (Element, bool) {
	const what = "kind of path element"
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		kind, ok := r.word(n, what, elementKinds())
		return newElement(kind), ok
	}
	if !r.isMapping(n, "a path element with parameters") {
		return Element{}, false
	}
	if len(n.Content) != 2 {
		r.wrong(n, "write, for example, {wire: {delay: 50us}}",
			"a path element names one kind, and below it its parameters")
		return Element{}, false
	}
	key, value := n.Content[0], n.Content[1]
	if !r.isKey(key) {
		return Element{}, false
	}
	if !slices.Contains(elementKinds(), key.Value) {
		r.wrong(key, Suggest(key.Value, elementKinds()), "unknown %s %s", what, quote(key.Value))
		return Element{}, false
	}
	e := newElement(key.Value)
	if isNull(value) {
		return e, true
	}
	if keys := elementKeys(e.Kind); len(keys) == 0 {
		if r.isMapping(value, e.Kind) && len(value.Content) > 0 {
			r.wrong(value.Content[0], "write just "+e.Kind, "%s takes no parameters", e.Kind)
		}
		return e, true
	}
	r.parameters(&e, field{key, value})
	return e, true
}

func newElement(kind string) Element {
	e := Element{Kind: kind}
	if kind == Firewall {
		e.Rules = defaultRules
	}
	return e
}

func (r *reader) parameters(e *Element, element field) {
	f, ok := r.fields(element.value, element.key, e.Kind, elementKeys(e.Kind))
	if !ok {
		return
	}
	if v, ok := r.optional(f, "rules"); ok {
		if n, ok := r.integer(v.value, "rules", 1, maxRules); ok {
			e.Rules = int(n)
		}
	}
	if v, ok := r.optional(f, "delay"); ok {
		e.Delay, _ = quantity(r, v.value, "delay", "50us", parseDelay)
		switch {
		case e.Delay > maxDelay:
			r.wrong(v.value, "at most "+FormatDuration(maxDelay), "a delay of %s is too long", FormatDuration(e.Delay))
		case e.Delay%delayStep != 0:
			r.wrong(v.value, "write, for example, "+FormatDuration(e.Delay.Truncate(delayStep)+delayStep),
				"delay %s: a wire counts in steps of %s", FormatDuration(e.Delay), FormatDuration(delayStep))
		}
	}
	if v, ok := r.optional(f, "rate"); ok {
		rate, ok := quantity(r, v.value, "rate", "1Gbit/s", ParseRate)
		if ok && (rate < minWireRate || rate > maxWireRate) {
			r.wrong(v.value, "write "+FormatRate(minWireRate)+" to "+FormatRate(maxWireRate),
				"a wire cannot have a rate of %s", FormatRate(rate))
		}
		e.Rate = rate
	}
	if v, ok := r.optional(f, "loss"); ok {
		e.Loss, _ = quantity(r, v.value, "loss", "1%", ParseRatio)
		if e.Loss == 1 {
			r.wrong(v.value, "did you mean 1%?", "with a loss of %s nothing gets through", bare(v.value.Value))
		}
	}
}

// maxHops is how many times a packet can be routed between two hosts: it starts with 64 hops left (the kernel's
// default) and the router that takes the last one drops it.
const maxHops = 63

const tooManyHops = "%d routers between two hosts are more than a packet crosses"

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

// layers reads declared layers.
func (r *reader) layers(a *parsedArm, n *yaml.Node) {
	if !r.isMapping(n, "layers") {
		return
	}
	if count := len(n.Content) / 2; count > maxPath {
		r.wrong(n, "at most "+strconv.Itoa(maxPath), "an arm with %d layers", count)
		return
	}
	for key, value := range pairs(n) {
		if !r.isKey(key) || !r.name(key, "a layer", key.Value) {
			continue
		}
		if first, twice := a.layerKeys[key.Value]; twice {
			r.wrong(key, "keep one of them", "layer %s is here twice; the first is in line %d", quote(key.Value),
				first.Line)
			continue
		}
		a.layerKeys[key.Value] = key
		count, ok := r.integer(value, "the count of layer "+strings.TrimSpace(key.Value), 0, maxCount)
		if ok && count > 0 {
			a.Layers[key.Value] = int(count)
		}
	}
}
