package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"nearfar/internal/declare/check"
)

// The limits of what an arm expects.
const (
	MaxFacts      = 50
	maxExpectText = 200 // characters of a text or of a path
)

// UnprovedWords are the values of Experiment.Unproved.
func UnprovedWords() []string { return []string{UnprovedKeep, UnprovedDrop} }

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

// CheckExpectText checks the text or the path of an expectation.
func CheckExpectText(text string) error {
	switch {
	case utf8.RuneCountInString(text) > maxExpectText:
		return fmt.Errorf("a text of %d characters; at most %d", utf8.RuneCountInString(text), maxExpectText)
	case strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("the text has a character that cannot be printed")
	}
	return nil
}

// CheckContradictions finds expectations that no trial can meet. oneMachine says that the file shows both sides to be
// one machine.
func (a Arm) CheckContradictions(c *Checker, oneMachine bool) {
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
			c.wrong(AtKey("expect", later(pair)), "keep one of them", "%s and %s cannot both be %t", pair[0], pair[1], same)
			return
		}
	}
	oneMachine = oneMachine && a.HasHosts() && a.Kubernetes == nil
	oneNode := expectsOneNode(oneMachine, value)
	for _, zone := range []struct {
		name  string
		apart bool
	}{{check.ExpectSameZone, false}, {check.ExpectDifferentZone, true}} {
		if yes, given := value(zone.name); given && yes == zone.apart && oneNode != "" {
			c.wrong(AtKey("expect", zone.name), "leave one of them out", "%s cannot be %t: %s, and a node is in one zone",
				zone.name, yes, oneNode)
			return
		}
	}
	for _, node := range []struct {
		name  string
		apart bool
	}{{check.ExpectSameNode, false}, {check.ExpectDifferentNodes, true}} {
		if yes, given := value(node.name); given && yes == node.apart && oneMachine {
			c.wrong(AtKey("expect", node.name), "leave it out, or name another host",
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
