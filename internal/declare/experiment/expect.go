package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/check"
)

// The limits of what an arm expects.
const (
	maxFacts       = 50
	maxExpectText  = 200     // characters of a text or of a path
	maxExpectWhole = 1 << 53 // whole numbers up to this are exact in JSON
)

func unprovedWords() []string { return []string{UnprovedKeep, UnprovedDrop} }

// HasExpectations reports whether any arm expects something.
func (e *Experiment) HasExpectations() bool {
	return slices.ContainsFunc(e.Arms, func(a Arm) bool { return len(a.Expect) > 0 })
}

// ExpectText lists what an arm expects, in a line; empty if it expects nothing.
func (a Arm) ExpectText() string {
	var all []string
	for _, e := range a.Expect {
		all = append(all, e.Text())
	}
	return strings.Join(all, ", ")
}

// unproved reads what happens to trials with an expectation that is not proved. It is empty if no arm expects anything
// and the file does not set it.
func (r *reader) unproved(f fields, e *Experiment) string {
	word := ""
	if e.HasExpectations() {
		word = UnprovedKeep
	}
	if v, ok := r.optional(f, "unproved"); ok {
		word = r.scalar(v.value, "value of unproved", UnprovedKeep)
	}
	return word
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
		r.wrong(n, Suggest(text, check.Encapsulations()), "unknown encapsulation %s", quote(text))
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
		limits := Range{-maxExpectWhole, maxExpectWhole}
		is, ok := r.whole(n, what, limits)
		if ok && !limits.holds(is) {
			r.wrong(n, limits.hint(), "%s cannot be %d", what, is)
		}
		return float64(is), ok && limits.holds(is)
	case "!!float":
		value, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
			r.wrong(n, "write a number such as 1.5", "%s cannot be %s", what, quote(n.Value))
			return nil, false
		}
		return value, true
	}
	if err := checkExpectText(n.Value); err != nil {
		r.wrong(n, "write a short text", "%s: %v", what, err)
		return nil, false
	}
	return n.Value, true
}

// checkExpectText checks the text or the path of an expectation.
func checkExpectText(text string) error {
	switch {
	case utf8.RuneCountInString(text) > maxExpectText:
		return fmt.Errorf("a text of %d characters; at most %d", utf8.RuneCountInString(text), maxExpectText)
	case strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("the text has a character that cannot be printed")
	}
	return nil
}

// expectedFacts reads fact: {path: value, ...}.
func (r *reader) expectedFacts(of field) []check.Expectation {
	if !r.isMapping(of.value, "fact") {
		return nil
	}
	switch n := len(of.value.Content) / 2; {
	case n == 0:
		r.wrong(of.value, "write, for example, fact: "+expectExample(check.ExpectFact), "fact is empty")
	case n > maxFacts:
		r.wrong(of.value, "at most "+strconv.Itoa(maxFacts), "there are %d facts", n)
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
	if err := checkExpectText(key.Value); err != nil {
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
	hint := Suggest(first, check.FactNames())
	if side == "" && (first == "client" || first == "server") {
		hint = "write the fact behind it, for example " + first + ".model"
	}
	r.wrong(key, hint, "%s is no fact of a host: nearfar check prints the facts", quote(key.Value))
	return false
}

// checkContradictions finds expectations that no trial can meet. oneMachine says that the file shows both sides to be
// one machine.
func (a Arm) checkContradictions(c *checker, oneMachine bool) {
	value := func(name string) (yes, given bool) {
		for _, e := range a.Expect {
			if e.Name == name {
				yes, given = e.Value.(bool)
				return yes, given
			}
		}
		return false, false
	}
	later := func(names [2]string) string { // in the file
		at := func(name string) int {
			return slices.IndexFunc(a.Expect, func(e check.Expectation) bool { return e.Name == name })
		}
		if at(names[0]) > at(names[1]) {
			return names[0]
		}
		return names[1]
	}
	for _, pair := range [][2]string{
		{check.ExpectSameZone, check.ExpectDifferentZone}, {check.ExpectSameNode, check.ExpectDifferentNodes},
	} {
		same, first := value(pair[0])
		apart, second := value(pair[1])
		if first && second && same == apart {
			c.wrong(atKey("expect", later(pair)), keepOne, "%s and %s cannot both be %t", pair[0], pair[1], same)
			return
		}
	}
	oneMachine = oneMachine && a.hasHosts() && a.Kubernetes == nil
	oneNode := expectsOneNode(oneMachine, value)
	for _, zone := range []struct {
		name  string
		apart bool
	}{{check.ExpectSameZone, false}, {check.ExpectDifferentZone, true}} {
		if yes, given := value(zone.name); given && yes == zone.apart && oneNode != "" {
			c.wrong(atKey("expect", zone.name), "leave one of them out", "%s cannot be %t: %s, and a node is in one zone",
				zone.name, yes, oneNode)
			return
		}
	}
	for _, node := range []struct {
		name  string
		apart bool
	}{{check.ExpectSameNode, false}, {check.ExpectDifferentNodes, true}} {
		if yes, given := value(node.name); given && yes == node.apart && oneMachine {
			c.wrong(atKey("expect", node.name), "leave it out, or name another host",
				"%s cannot be %t: client and server are one machine", node.name, yes)
			return
		}
	}
}

// expectsOneNode says why both sides are on one node; empty if they need not be.
func expectsOneNode(oneMachine bool, value func(string) (yes, given bool)) string {
	if same, given := value(check.ExpectSameNode); given && same {
		return check.ExpectSameNode + " is true"
	}
	if apart, given := value(check.ExpectDifferentNodes); given && !apart {
		return check.ExpectDifferentNodes + " is false"
	}
	if oneMachine {
		return "client and server are one machine"
	}
	return ""
}
