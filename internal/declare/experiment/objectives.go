package experiment

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxObjectives is the greatest number of objectives in a file.
const maxObjectives = 100

// Position is a place in a file, with the text of its line.
type Position struct {
	File string
	// Line and Column count from 1; columns are characters.
	Line, Column int
	Source       string
}

// objectives reads the rules that a run must meet as texts, with their places. Package gate parses them, since this
// package does not know metrics.
func (r *reader) objectives(f fields) (texts []string, at []Position) {
	v, ok := r.optional(f, "objectives")
	const sample = `["rr rtt.p99 < 200us"]`
	if !ok || !r.isSequence(v.value, "objectives", sample) {
		return nil, nil
	}
	if !r.most(v.value, "objectives", len(v.value.Content), maxObjectives) {
		return nil, nil
	}
	for _, n := range v.value.Content {
		text, ok := r.text(n, "an objective", `"rr rtt.p99 < 200us"`)
		if ok {
			texts, at = append(texts, text), append(at, r.position(n, text))
		}
	}
	return texts, at
}

// position gives the place where the text of a node begins, which is after its quote if it has one.
func (r *reader) position(n *yaml.Node, text string) Position {
	m := r.source.mistake(n.Line, n.Column, "", "")
	p := Position{File: m.File, Line: m.Line, Column: m.Column, Source: m.Source}
	line := []rune(m.Source)
	rest := string(line[min(m.Column-1, len(line)):])
	if i := strings.Index(rest, text); i >= 0 {
		p.Column += utf8.RuneCountInString(rest[:i])
	}
	return p
}
