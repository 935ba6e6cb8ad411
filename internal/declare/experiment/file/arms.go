package file

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// parsedArm is an arm and its place in the file.
type parsedArm struct {
	experiment.Arm
	// set is the arm's key set; it has no value if the arm has none.
	set field
}

// arms reads the arms in the order of the file.
func (r *reader) arms(f fields) []parsedArm {
	v, ok := r.required(f, "arms", experiment.ArmsExample)
	if !ok || !r.isMapping(v.value, "arms") {
		return nil
	}
	if !r.most(v.key, "arms", len(v.value.Content)/2, experiment.MaxArms) {
		return nil
	}
	var arms []parsedArm
	for key, value := range r.entries(v.value, "arm ", "give each arm a name of its own") {
		arms = append(arms, r.arm(key, value))
	}
	return arms
}

func (r *reader) arm(key, value *yaml.Node) parsedArm {
	a := parsedArm{Arm: experiment.Arm{Name: key.Value, Layers: map[string]int{}}}
	what := "arm " + quote(key.Value)
	if isNull(value) {
		r.check(fields{at: key}, a.CheckWays)
		return a
	}
	f, ok := r.fields(value, key, what, experiment.KeysOf("arm"))
	if !ok {
		return a
	}
	if lab, ok := r.optional(f, "lab"); ok {
		a.Lab = r.lab(lab)
	}
	if v, given := f.named["kubernetes"]; given && isNull(v.value) {
		r.wrong(v.key, "write kubernetes: {} for pods on any two nodes", "kubernetes has no value")
		a.Kubernetes = &experiment.Kubernetes{Through: experiment.ThroughPod}
	} else if given {
		a.Kubernetes = r.kubernetes(f, v)
	}
	r.pair(&a, f)
	r.check(f, a.CheckWays)
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
		r.check(f, func(c *experiment.Checker) { a.CheckContradictions(c, r.known.oneMachine(a.Arm)) })
	}
	r.check(f, a.Check)
	if mtu, ok := f.find([]string{"lab", "mtu"}); ok && r.faulty[mtu.value] && a.Lab != nil {
		a.Lab.MTU = experiment.DefaultMTU // the workloads have nothing to add
	}
	maps.DeleteFunc(a.Layers, func(_ string, count int) bool { return count == 0 })
	return a
}

func (r *reader) lab(lab field) *experiment.Lab {
	l := &experiment.Lab{MTU: experiment.DefaultMTU}
	f, ok := r.fields(lab.value, lab.key, "lab", experiment.KeysOf("lab"))
	if !ok {
		return l
	}
	if path, ok := r.required(f, "path", "path: [bridge]"); ok {
		l.Path = r.path(path.value)
	}
	f.numbers(l.Numbers())
	return l
}

// path reads the elements from the client to the server.
func (r *reader) path(n *yaml.Node) []experiment.Element {
	if !r.isSequence(n, "path", "[bridge, router, bridge]") {
		return nil
	}
	var path []experiment.Element
	for _, child := range n.Content {
		path = append(path, r.element(child))
	}
	return path
}

// element reads bridge, or {wire: {delay: 50us}}. It gives an element without a kind if that cannot be read.
func (r *reader) element(n *yaml.Node) experiment.Element {
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		return experiment.NewElement(n.Value)
	}
	if !r.isMapping(n, "a path element with parameters") {
		return experiment.Element{}
	}
	if len(n.Content) != 2 {
		r.wrong(n, "write, for example, {wire: {delay: 50us}}",
			"a path element names one kind, and below it its parameters")
		return experiment.Element{}
	}
	key, value := n.Content[0], n.Content[1]
	if !r.isKey(key) {
		return experiment.Element{}
	}
	e := experiment.NewElement(key.Value)
	if isNull(value) || !slices.Contains(experiment.ElementKinds(), e.Kind) {
		return e
	}
	if keys := experiment.KeysOf(e.Kind); len(keys) == 0 {
		if r.isMapping(value, e.Kind) && len(value.Content) > 0 {
			r.wrong(value.Content[0], "write just "+e.Kind, "%s takes no parameters", e.Kind)
		}
		return e
	}
	r.parameters(&e, field{key, value})
	return e
}

func (r *reader) parameters(e *experiment.Element, element field) {
	f, ok := r.fields(element.value, element.key, e.Kind, experiment.KeysOf(e.Kind))
	if !ok {
		return
	}
	f.numbers(e.Numbers())
	experiment.Quantity(f, "delay", "50us", experiment.ParseDelay, &e.Delay)
	experiment.Quantity(f, "rate", "1Gbit/s", experiment.ParseRate, &e.Rate)
	experiment.Quantity(f, "loss", "1%", experiment.ParseRatio, &e.Loss)
}

// layers reads declared layers.
func (r *reader) layers(a *parsedArm, n *yaml.Node) {
	if !r.isMapping(n, "layers") {
		return
	}
	for key, value := range r.entries(n, "layer ", keepOne) {
		a.Layers[key.Value], _ = r.whole(value, experiment.LayerCount(key.Value), experiment.LayerCounts())
	}
}

// pair reads the names of the two hosts of an arm, if it names one. An arm with pods can name one host.
func (r *reader) pair(a *parsedArm, f fields) {
	_, client := f.named["client"]
	_, server := f.named["server"]
	_, pods := f.named["kubernetes"]
	if client || server && !pods {
		r.hostName(a, f, "client", "vm-a", &a.Client)
	}
	if server || client && !pods {
		r.hostName(a, f, "server", "vm-b", &a.Server)
	}
}

// hostName reads the name of a host. It leaves out a name that is wrong.
func (r *reader) hostName(a *parsedArm, f fields, side, example string, into *string) {
	v, ok := r.required(f, side, side+": "+example)
	if !ok {
		return
	}
	*into, _ = r.text(v.value, side, example)
	if !r.known.unknown {
		r.check(f, func(c *experiment.Checker) { a.CheckHost(c, side, r.known.names) })
	}
	if r.faulty[v.value] {
		*into = ""
	}
}
