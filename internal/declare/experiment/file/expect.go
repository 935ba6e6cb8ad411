package file

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

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
