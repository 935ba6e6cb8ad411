package gate

import (
	"fmt"
	"slices"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

// Written is the text of a rule and its position.
type Written struct {
	Text string
	// File and Line are its position in a file, or the name of a flag and the number of its use. For a line of a
	// file, Source is that line and Column the position of the rule in it, in characters from 1.
	File         string
	Line, Column int
	Source       string
	// Required says that the rule states what must hold, not what must not.
	Required bool
	// Arms and Workloads are the existing names; nil if they are not known yet.
	Arms, Workloads []string
	// Own are the figures of programs of an experiment's own (experiment.Command).
	Own []experiment.CommandMetric
}

// ParseAll reads rules. The error lists all mistakes with their positions.
func ParseAll(written []Written) ([]Rule, error) {
	if len(written) > maxRules {
		return nil, fmt.Errorf("there are %d rules; at most %d", len(written), maxRules)
	}
	var rules []Rule
	var mistakes experimentfile.Mistakes
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

// known checks a name, if the names are known.
func (p *parser) known(w word, what string, names []string) {
	if names != nil && w.text != Any && !slices.Contains(names, w.text) {
		p.wrong(w.at, experiment.Suggest(w.text, names), "no %s %s", what, quote(w.text))
	}
}

// Objectives reads the objectives of an experiment: what must hold for a run. The error lists all mistakes with their
// positions in the file.
func Objectives(e *experiment.Experiment) ([]Rule, error) {
	var written []Written
	arms := e.ArmNames()
	var workloads []string
	for _, w := range e.Unwatched().Workloads {
		workloads = append(workloads, w.Name)
	}
	for i, text := range e.Objectives {
		w := Written{Text: text, File: "objectives", Line: i + 1, Required: true, Arms: arms, Workloads: workloads,
			Own: e.OwnFigures()}
		if i < len(e.ObjectivesAt) {
			at := e.ObjectivesAt[i]
			w.File, w.Line, w.Column, w.Source = at.File, at.Line, at.Column, at.Source
		}
		written = append(written, w)
	}
	return ParseAll(written)
}

// NeedsBase says whether a rule is about a change: it needs two sides, or a run with arms besides its baseline.
func (r Rule) NeedsBase() bool { return r.Kind != Value }
