package gate

import (
	"fmt"
	"slices"

	"nearfar/internal/experiment"
)

// Written is a rule as it was written, and where.
type Written struct {
	Text string
	// File and Line are where it stands, in a file or as the how manieth of a flag. Where it stands in a line of a file, Source is that
	// line and Column where the rule begins in it, in characters from 1.
	File         string
	Line, Column int
	Source       string
	// Required says that the rule says what must hold, and not what must not.
	Required bool
	// Arms and Workloads are the names that there are; nil where they are not known yet.
	Arms, Workloads []string
}

// ParseAll reads rules. The error lists all mistakes, each with its place.
func ParseAll(written []Written) ([]Rule, error) {
	if len(written) > maxRules {
		return nil, fmt.Errorf("there are %d rules; at most %d", len(written), maxRules)
	}
	var rules []Rule
	var mistakes experiment.Mistakes
	for _, w := range written {
		p := parser{Written: w, text: w.Text}
		rules = append(rules, p.rule())
		mistakes = append(mistakes, p.mistakes...)
	}
	if len(mistakes) > 0 {
		return nil, &mistakes
	}
	return rules, nil
}

// known checks a name where the names are known.
func (p *parser) known(w word, what string, names []string) {
	if names != nil && w.text != Any && !slices.Contains(names, w.text) {
		p.wrong(w.at, experiment.Suggest(w.text, names), "no %s %s", what, quote(w.text))
	}
}

// Objectives reads those of an experiment: what must hold of a run. The error lists all mistakes, each with its place in the file.
func Objectives(e *experiment.Experiment) ([]Rule, error) {
	var written []Written
	var arms, workloads []string
	for _, a := range e.Arms {
		arms = append(arms, a.Name)
	}
	for _, w := range e.Workloads {
		workloads = append(workloads, w.Name)
	}
	for i, text := range e.Objectives {
		w := Written{Text: text, File: "objectives", Line: i + 1, Required: true, Arms: arms, Workloads: workloads}
		if i < len(e.ObjectivesAt) {
			at := e.ObjectivesAt[i]
			w.File, w.Line, w.Column, w.Source = at.File, at.Line, at.Column, at.Source
		}
		written = append(written, w)
	}
	return ParseAll(written)
}

// NeedsBase says that a rule is about a change: it takes two sides, or a run with arms besides its baseline.
func (r Rule) NeedsBase() bool { return r.Kind != Value }
