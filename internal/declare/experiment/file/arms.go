package file

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/check"
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

// expectExample is a value of an expectation, for hints.
func expectExample(name string) string {
	switch name {
	case check.ExpectPlacementGroup:
		return "true"
	case check.ExpectInstanceType:
		return "Standard_D4s_v5"
	case check.ExpectEncapsulation:
		return "vxlan"
	case check.ExpectMTU:
		return "1500"
	case check.ExpectDriver:
		return "mlx5_core"
	case check.ExpectFact:
		return "{kernel: 6.8.0-1015-azure}"
	}
	return "true"
}

// expect reads what must be true of an arm, in the order of the file.
func (r *reader) expect(a *parsedArm, of field) {
	f, ok := r.fields(of.value, of.key, "expect", check.Expectations())
	if !ok {
		return
	}
	if len(of.value.Content) == 0 {
		r.wrong(of.value, "write, for example, expect: {same-zone: true}, or leave the key out", "expect is empty")
	}
	for key := range pairs(of.value) {
		v, known := f.named[key.Value]
		if !known || v.key != key {
			continue
		}
		if key.Value == check.ExpectFact {
			a.Expect = append(a.Expect, r.expectedFacts(v)...)
			continue
		}
		if e, ok := r.expectation(check.Expectation{Name: key.Value}, v.value); ok {
			a.Expect = append(a.Expect, e)
		}
	}
}

// expectation reads the value of an expectation.
func (r *reader) expectation(e check.Expectation, n *yaml.Node) (check.Expectation, bool) {
	what := e.Subject()
	example := expectExample(e.Name)
	if e.Name == check.ExpectFact {
		example = "1500"
	}
	if !r.isScalar(n, what, example) {
		return e, false
	}
	value, ok := r.single(n, what)
	if !ok {
		return e, false
	}
	e.Value = value
	if e.Check() != nil {
		hint, quoted := "write, for example, "+what+": "+example, e
		quoted.Value = n.Value
		if _, isNumber := value.(float64); isNumber && quoted.Check() == nil && e.Name != check.ExpectEncapsulation {
			hint = "write it in quotes: " + strconv.Quote(n.Value)
		}
		r.wrong(n, hint, "%s must be %s, not %s", what, e.Needs(), kindName(n))
		return e, false
	}
	if text, _ := value.(string); e.Name == check.ExpectEncapsulation &&
		!slices.Contains(check.Encapsulations(), text) {
		r.wrong(n, experiment.Suggest(text, check.Encapsulations()), "unknown encapsulation %s", quote(text))
		return e, false
	}
	return e, true
}

// single reads a truth value, a number or a text. All numbers are float64, as from JSON.
func (r *reader) single(n *yaml.Node, what string) (any, bool) {
	switch n.ShortTag() {
	case "!!bool":
		if n.Value != "true" && n.Value != "false" {
			r.wrong(n, "write true or false", "%s cannot be %s", what, quote(n.Value))
			return nil, false
		}
		return n.Value == "true", true
	case "!!int":
		limits := experiment.Range{Min: -1 << 53, Max: 1 << 53} // up to this, whole numbers are exact in JSON
		is, ok := r.whole(n, what, limits)
		if ok && !limits.Holds(is) {
			r.wrong(n, limits.Hint(), "%s cannot be %d", what, is)
		}
		return float64(is), ok && limits.Holds(is)
	case "!!float":
		value, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
			r.wrong(n, "write a number such as 1.5", "%s cannot be %s", what, quote(n.Value))
			return nil, false
		}
		return value, true
	}
	if err := experiment.CheckExpectText(n.Value); err != nil {
		r.wrong(n, "write a short text", "%s: %v", what, err)
		return nil, false
	}
	return n.Value, true
}

// expectedFacts reads fact: {path: value, ...}.
func (r *reader) expectedFacts(of field) []check.Expectation {
	if !r.isMapping(of.value, "fact") {
		return nil
	}
	switch n := len(of.value.Content) / 2; {
	case n == 0:
		r.wrong(of.value, "write, for example, fact: "+expectExample(check.ExpectFact), "fact is empty")
	case n > experiment.MaxFacts:
		r.wrong(of.value, "at most "+strconv.Itoa(experiment.MaxFacts), "there are %d facts", n)
		return nil
	}
	var all []check.Expectation
	for key, value := range r.entries(of.value, "", keepOne) {
		if !r.factPath(key) {
			continue
		}
		e, ok := r.expectation(check.Expectation{Name: check.ExpectFact, Path: key.Value}, value)
		if ok {
			all = append(all, e)
		}
	}
	return all
}

// factPath checks that the path of a fact begins with a fact that exists. The rest of the path depends on the host.
func (r *reader) factPath(key *yaml.Node) bool {
	if err := experiment.CheckExpectText(key.Value); err != nil {
		r.wrong(key, "write a path such as client.devices.eth0.mtu", "fact: %v", err)
		return false
	}
	side, rest := check.FactPath(key.Value)
	first, _, _ := strings.Cut(rest, ".")
	if slices.Contains(check.FactNames(), first) {
		if slices.Contains(strings.Split(rest, "."), "") {
			r.wrong(key, "write a path such as client.devices.eth0.mtu", "the path %s has an empty part",
				quote(key.Value))
			return false
		}
		return true
	}
	hint := experiment.Suggest(first, check.FactNames())
	if side == "" && (first == "client" || first == "server") {
		hint = "write the fact behind it, for example " + first + ".model"
	}
	r.wrong(key, hint, "%s is no fact of a host: nearfar check prints the facts", quote(key.Value))
	return false
}
