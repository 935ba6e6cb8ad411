package experiment

import (
	"maps"
	"slices"
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
	return []string{"lab", "kubernetes", "client", "server", "layers", "expect", "set",
		"tofu"} // known, and not supported
}

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
	// set is the arm's key set; it has no value if the arm has none.
	set field
}

const armsExample = "arms: {l2: {lab: {path: [bridge]}}}"

// arms reads the arms in the order of the file.
func (r *reader) arms(f fields) []parsedArm {
	v, ok := r.required(f, "arms", armsExample)
	if !ok || !r.isMapping(v.value, "arms") {
		return nil
	}
	if !r.most(v.key, "arms", len(v.value.Content)/2, maxArms) {
		return nil
	}
	var arms []parsedArm
	for key, value := range r.entries(v.value, "arm ", "give each arm a name of its own") {
		arms = append(arms, r.arm(key, value))
	}
	return arms
}

func (r *reader) arm(key, value *yaml.Node) parsedArm {
	a := parsedArm{Arm: Arm{Name: key.Value, Layers: map[string]int{}}}
	if isNull(value) {
		r.check(fields{at: key}, a.checkWays)
		return a
	}
	f, ok := r.fields(value, key, a.what(), armKeys())
	if !ok {
		return a
	}
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
	r.check(f, a.checkWays)
	if v, ok := f.named["tofu"]; ok {
		r.wrong(v.key, "write, for example, lab: {path: [bridge]}, kubernetes: {}, or client: vm-a, server: vm-b",
			"tofu: this build has hosts only from lab and kubernetes, and by name")
	}
	if layers, ok := r.optional(f, "layers"); ok {
		a.LayersDeclared = true
		r.layers(&a, layers.value)
	}
	if set, ok := r.optional(f, "set"); ok {
		a.set = set
	}
	if expect, ok := r.optional(f, "expect"); ok {
		r.expect(&a, expect)
		r.check(f, func(c *checker) { a.checkContradictions(c, r.known.oneMachine(a.Arm)) })
	}
	r.check(f, a.check)
	if mtu, ok := f.find([]string{"lab", "mtu"}); ok && r.faulty[mtu.value] && a.Lab != nil {
		a.Lab.MTU = DefaultMTU // the workloads have nothing to add
	}
	maps.DeleteFunc(a.Layers, func(_ string, count int) bool { return count == 0 })
	return a
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
	r.numbers(f, l.numbers())
	return l
}

func (l *Lab) has(kind string) bool {
	return slices.ContainsFunc(l.Path, func(e Element) bool { return e.Kind == kind })
}

// path reads the elements from the client to the server.
func (r *reader) path(n *yaml.Node) []Element {
	if !r.isSequence(n, "path", "[bridge, router, bridge]") {
		return nil
	}
	var path []Element
	for _, child := range n.Content {
		path = append(path, r.element(child))
	}
	return path
}

// element reads bridge, or {wire: {delay: 50us}}. It gives an element without a kind if that cannot be read.
func (r *reader) element(n *yaml.Node) Element {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		return newElement(n.Value)
	}
	if !r.isMapping(n, "a path element with parameters") {
		return Element{}
	}
	if len(n.Content) != 2 {
		r.wrong(n, "write, for example, {wire: {delay: 50us}}",
			"a path element names one kind, and below it its parameters")
		return Element{}
	}
	key, value := n.Content[0], n.Content[1]
	if !r.isKey(key) {
		return Element{}
	}
	e := newElement(key.Value)
	if isNull(value) || !slices.Contains(elementKinds(), e.Kind) {
		return e
	}
	if keys := elementKeys(e.Kind); len(keys) == 0 {
		if r.isMapping(value, e.Kind) && len(value.Content) > 0 {
			r.wrong(value.Content[0], "write just "+e.Kind, "%s takes no parameters", e.Kind)
		}
		return e
	}
	r.parameters(&e, field{key, value})
	return e
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
	r.numbers(f, e.numbers())
	if v, ok := r.optional(f, "delay"); ok {
		e.Delay, _ = quantity(r, v.value, "delay", "50us", parseDelay)
	}
	if v, ok := r.optional(f, "rate"); ok {
		e.Rate, _ = quantity(r, v.value, "rate", "1Gbit/s", ParseRate)
	}
	if v, ok := r.optional(f, "loss"); ok {
		e.Loss, _ = quantity(r, v.value, "loss", "1%", ParseRatio)
	}
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

// layers reads declared layers.
func (r *reader) layers(a *parsedArm, n *yaml.Node) {
	if !r.isMapping(n, "layers") {
		return
	}
	for key, value := range r.entries(n, "layer ", keepOne) {
		a.Layers[key.Value], _ = r.whole(value, layerCount(key.Value), layerCounts())
	}
}
