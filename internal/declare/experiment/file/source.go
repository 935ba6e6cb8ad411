package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
)

// maxFile is the largest experiment file, in bytes.
const maxFile = 1 << 20

// source is a file and its lines.
type source struct {
	file  string
	lines []string
}

// newSource splits the text into lines like YAML: at \n, \r\n, \r, and Unicode's NEL, LS and PS. The lines are for
// messages, so join strings are hidden in them.
func newSource(file string, data []byte) source {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").
		Replace(withoutJoins(string(data)))
	return source{file: file, lines: strings.Split(text, "\n")}
}

// mistake makes a mistake, and moves its position into the file if necessary.
func (s source) mistake(line, column int, message, hint string) Mistake {
	line = min(max(line, 1), len(s.lines))
	text := s.lines[line-1]
	column = min(max(column, 1), utf8.RuneCountInString(text)+1)
	return Mistake{s.file, line, column, message, hint, text}
}

// document reads the text as one YAML document and gives its top node. It gives nil if that is not possible; this is
// then reported.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > maxFile {
		r.add(1, 1, fmt.Sprintf("the file has %d bytes", len(data)),
			"an experiment file has at most "+experiment.FormatSize(maxFile))
		return nil
	}
	if !r.isText(data) {
		return nil
	}
	var documents []yaml.Node
	if err := yaml.Load(guardVariables(data), &documents, yaml.WithAllDocuments()); err != nil {
		r.syntaxError(err)
		return nil
	}
	if len(documents) == 0 || len(documents[0].Content) == 0 || len(documents) == 1 && isNull(documents[0].Content[0]) {
		r.add(1, 1, "the file is empty", "an experiment begins with nearfar: v1")
		return nil
	}
	if len(documents) > 1 {
		r.wrong(&documents[1], "write one experiment in a file", "a second document begins here")
	}
	top := documents[0].Content[0]
	restoreVariables(top)
	r.refuseReferences(top)
	return top
}

func (r *reader) add(line, column int, message, hint string) {
	r.mistakes = append(r.mistakes, r.source.mistake(line, column, r.hidden(message), r.hidden(hint)))
}

// isText reports the first place that is not plain UTF-8 text.
func (r *reader) isText(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		r.add(1, 1, "the file is UTF-16", "save it as UTF-8")
		return false
	}
	for i, line := range r.source.lines {
		column := 1
		for at, c := range line {
			if _, size := utf8.DecodeRuneInString(line[at:]); c == utf8.RuneError && size == 1 {
				r.add(i+1, column, fmt.Sprintf("byte 0x%02x is no UTF-8", line[at]), "save the file as UTF-8")
				return false
			}
			if c < ' ' && c != '\t' || 0x7f <= c && c < 0xa0 || c == 0xfeff || c == 0xfffe || c == 0xffff {
				r.add(i+1, column, fmt.Sprintf("control character %s", clean.Rune(c)), "remove it")
				return false
			}
			column++
		}
	}
	return true
}

// syntaxError reports why the text is not valid YAML.
func (r *reader) syntaxError(err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.add(1, 1, "this is no YAML: "+clean.Line(err.Error()), "")
		return
	}
	message := "this is no YAML: " + clean.Line(load.Message)
	if load.ContextMsg != "" {
		message += " " + clean.Line(load.ContextMsg)
	}
	hint := ""
	switch {
	case strings.HasPrefix(load.Message, "found character that cannot start any token"):
		hint = "indent with spaces, not tabs, and put text that begins with a special character in quotes"
	case strings.HasPrefix(load.Message, "mapping values are not allowed"):
		hint = "put text that holds \": \" in quotes, and check the indentation"
	case strings.HasPrefix(load.Message, "did not find expected"):
		hint = "check the brackets, commas and indentation here and above"
	case strings.HasPrefix(load.Message, "unknown anchor"):
		message, hint = "this is a YAML alias, and nothing has that name", "put text that begins with * in quotes"
	}
	r.add(load.Mark.Line, load.Mark.Column, message, hint)
}

// refuseReferences reports aliases, merge keys and unknown tags. They are not supported, so that every value of a file
// is visible in its place.
func (r *reader) refuseReferences(n *yaml.Node) {
	const hint = "write out what it stands for"
	switch {
	case n.Kind == yaml.AliasNode:
		r.wrong(n, hint, "YAML aliases such as *%s are not read here", clean.Line(n.Value))
	case isMerge(n):
		r.wrong(n, hint, "YAML merge keys are not read here")
	case strings.HasPrefix(n.Tag, "!") && !slices.Contains(plainTags(), n.ShortTag()):
		r.wrong(n, "remove it", "unknown YAML tag %s", quote(n.Tag))
		n.Tag = "" // the value is then read as if it had no tag
	}
	for _, child := range n.Content {
		r.refuseReferences(child)
	}
}

// plainTags are those that YAML itself gives to values.
func plainTags() []string {
	return []string{"!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"}
}
