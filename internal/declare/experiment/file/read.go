package file

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// reader reads the nodes of one file and collects its mistakes.
type reader struct {
	source   source
	tools    experiment.Tools
	inputs   Inputs
	mistakes Mistakes
	// further is the file of hosts that are added to those of this file; nil if there is none.
	further *hostsFile
	// known are the hosts that arms can name.
	known declaredHosts
	// jsonValues says that lists and mappings among the values of variables are JSON, and not expressions of a module.
	jsonValues bool
	// commonPlacement is the placement at the top of the file; nil if there is none.
	commonPlacement *yaml.Node
	// references are the join strings that are one variable, as written. expandedNodes are scalars whose variables are
	// replaced, and unset those that have a variable without a value; they get no other mistakes. reported are values
	// that do not suit an arm, each of which is reported for one arm only.
	references                     map[*yaml.Node]string
	expandedNodes, unset, reported map[*yaml.Node]bool
	// faulty are the nodes that have a mistake.
	faulty map[*yaml.Node]bool
	// suppressed counts mistakes that were not reported because a variable is not set.
	suppressed int
	// secrets are texts that no message may show.
	secrets []string
	// moved is set while a workload is read again with the values that an arm sets. It says where mistakes are
	// reported.
	moved *moved
}

func newReader(filename string, data []byte, tools experiment.Tools, in Inputs) *reader {
	return &reader{source: newSource(filename, data[:min(len(data), maxFile)]), tools: tools, inputs: in,
		references: map[*yaml.Node]string{}, expandedNodes: map[*yaml.Node]bool{}, unset: map[*yaml.Node]bool{},
		reported: map[*yaml.Node]bool{}, faulty: map[*yaml.Node]bool{}}
}

// count is how many mistakes were found, including those that are not reported because a variable is not set.
func (r *reader) count() int { return len(r.mistakes) + r.suppressed }

// sorted gives the mistakes in the order of their positions.
func (r *reader) sorted() Mistakes {
	slices.SortStableFunc(r.mistakes, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.mistakes
}

// wrong adds a mistake at a node.
func (r *reader) wrong(n *yaml.Node, hint, format string, args ...any) {
	if r.unset[n] {
		r.suppressed++
		return
	}
	r.faulty[n] = true
	message := fmt.Sprintf(format, args...)
	if r.moved != nil && !r.moved.own[n] {
		n, message = r.moved.to, r.moved.what+": "+message
	}
	r.add(n.Line, n.Column, message, hint)
}

// field is a key of a mapping and its value.
type field struct{ key, value *yaml.Node }

// fields are the keys and values of one mapping. They are the Values of
// keys, and the Text of rules.
type fields struct {
	reader *reader
	// at is where a missing field is reported.
	at *yaml.Node
	// what names the mapping in messages: "the workload".
	what  string
	named map[string]field
	// suspected are the known keys that unknown keys probably stand for. They are not reported as missing.
	suspected map[string]bool
}

// fields reads a mapping whose keys must be among the known ones, each at most once. If the node is no mapping, it
// reports that, and the second result is false.
func (r *reader) fields(n, at *yaml.Node, what string, known []string) (fields, bool) {
	f := fields{reader: r, at: at, what: what, named: make(map[string]field), suspected: make(map[string]bool)}
	if !r.isMapping(n, what) {
		return f, false
	}
	for key, value := range pairs(n) {
		if isMerge(key) {
			// It could bring any key, so no key is reported as missing.
			for _, k := range known {
				f.suspected[k] = true
			}
			continue
		}
		if !r.isKey(key) {
			continue
		}
		switch first, twice := f.named[key.Value]; {
		case twice:
			r.wrong(key, "keep one of them", "%s is here twice; the first is in line %d", quote(key.Value),
				first.key.Line)
		case !slices.Contains(known, key.Value):
			f.suspected[experiment.Nearest(key.Value, known)] = true
			r.wrong(key, experiment.Suggest(key.Value, known), "unknown key %s in %s", quote(key.Value), what)
		default:
			f.named[key.Value] = field{key, value}
		}
	}
	return f, true
}

// optional finds a field. A field without a value is a mistake.
func (r *reader) optional(f fields, name string) (field, bool) {
	found, ok := f.named[name]
	if ok && isNull(found.value) {
		r.wrong(found.key, "give it one, or leave the key out", "%s has no value", name)
		return field{}, false
	}
	return found, ok
}

// required finds a field whose absence is a mistake.
func (r *reader) required(f fields, name, example string) (field, bool) {
	found, there := f.named[name]
	switch {
	case !there && !f.suspected[name]:
		r.wrong(f.at, "add, for example, "+example, "%s has no %s", f.what, quote(name))
	case there && isNull(found.value):
		r.wrong(found.key, "write, for example, "+example, "%s has no value", name)
		there = false
	}
	return found, there
}

// Whole reads a whole number.
func (f fields) Whole(key string, limits experiment.Range, into *int) (given bool) {
	v, given := f.reader.optional(f, key)
	if given {
		*into, _ = f.reader.whole(v.value, key, limits)
	}
	return given
}

// Truth reads true or false.
func (f fields) Truth(key string, into *bool) (given bool) {
	v, given := f.reader.optional(f, key)
	if given {
		*into = f.reader.truth(v.value, key)
	}
	return given
}

// Word reads a single value as it is written.
func (f fields) Word(key, example string, into *string) (given bool) {
	v, given := f.reader.optional(f, key)
	if given {
		*into = f.reader.scalar(v.value, key, example)
	}
	return given
}

// Text reads a value that must be text.
func (f fields) Text(key, example string, into *string) (given bool) {
	v, given := f.reader.optional(f, key)
	if given {
		*into, _ = f.reader.text(v.value, key, example)
	}
	return given
}

// Texts reads a mapping of texts.
func (f fields) Texts(key, example string, into *map[string]string) (given bool) {
	_, given = f.named[key]
	*into = f.reader.labels(f, key, example)
	return given
}

// Parsed reads a single value with a function, whose error says what is wrong with it.
func (f fields) Parsed(key, example string, parse func(text string) error) (given bool) {
	v, given := f.reader.optional(f, key)
	if given && f.reader.isScalar(v.value, key, example) {
		f.reader.refuse(v.value, key, parse(v.value.Value))
	}
	return given
}

// texts reads keys that have texts.
func (f fields) texts(keys []experiment.TextKey) {
	for _, k := range keys {
		if k.Plain {
			f.Word(k.Name, k.Example, k.Into)
		} else {
			f.Text(k.Name, k.Example, k.Into)
		}
	}
}

// numbers reads keys that have whole numbers.
func (f fields) numbers(keys []experiment.NumberKey) {
	for _, k := range keys {
		f.Whole(k.Name, k.Limits, k.Into)
	}
}

// pairs gives the keys and values of a mapping in their order, and nothing for no mapping.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// entries gives the keys of a mapping that are words, with their values, each once. what stands before the key in the
// message that it is there twice.
func (r *reader) entries(n *yaml.Node, what, hint string) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		lines := map[string]int{}
		for key, value := range pairs(n) {
			if !r.isKey(key) {
				continue
			}
			if line, twice := lines[key.Value]; twice {
				r.wrong(key, hint, "%s%s is here twice; the first is in line %d", what, quote(key.Value), line)
				continue
			}
			lines[key.Value] = key.Line
			if !yield(key, value) {
				return
			}
		}
	}
}

const keepOne = "keep one of them"

func isMerge(key *yaml.Node) bool { return key.Tag == "!!merge" }

// isKey reports whether a key is plain text. Merge keys and aliases are already reported.
func (r *reader) isKey(key *yaml.Node) bool {
	switch {
	case key.Kind == yaml.AliasNode || isMerge(key):
		return false
	case key.Kind != yaml.ScalarNode || isNull(key):
		r.wrong(key, "write a word", "a key must be a word, not %s", kindName(key))
		return false
	}
	return true
}

func (r *reader) isMapping(n *yaml.Node, what string) bool {
	if n.Kind != yaml.MappingNode && n.Kind != yaml.AliasNode {
		r.wrong(n, "write key: value pairs", "%s must be a mapping, not %s", what, kindName(n))
	}
	return n.Kind == yaml.MappingNode
}

func (r *reader) isSequence(n *yaml.Node, what, example string) bool {
	if n.Kind != yaml.SequenceNode && n.Kind != yaml.AliasNode {
		r.wrong(n, "write, for example, "+example, "%s must be a list, not %s", what, kindName(n))
	}
	return n.Kind == yaml.SequenceNode
}

func (r *reader) isScalar(n *yaml.Node, what, example string) bool {
	if n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode || isNull(n) {
		r.wrong(n, "write, for example, "+example, "%s must be a single value, not %s", what, kindName(n))
		return false
	}
	return n.Kind == yaml.ScalarNode
}

// text reads a value that must be text.
func (r *reader) text(n *yaml.Node, what, example string) (string, bool) {
	if !r.isScalar(n, what, example) {
		return "", false
	}
	if n.ShortTag() != "!!str" {
		r.wrong(n, "write it in quotes: "+strconv.Quote(n.Value), "%s must be text, not %s", what, kindName(n))
		return "", false
	}
	return n.Value, true
}

// scalar reads a single value as it is written.
func (r *reader) scalar(n *yaml.Node, what, example string) string {
	if !r.isScalar(n, what, example) {
		return ""
	}
	return n.Value
}

// whole reads a whole number. The limits are for the hint; whether the number is within them, the checker says.
func (r *reader) whole(n *yaml.Node, what string, limits experiment.Range) (int, bool) {
	if !r.isScalar(n, what, strconv.Itoa(max(limits.Min, min(1, limits.Max)))) {
		return 0, false
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		r.wrong(n, limits.Hint(), "%s cannot be %s", what, bare(n.Value))
		return 0, false
	case err != nil || n.ShortTag() != "!!int" || strconv.FormatInt(value, 10) != n.Value: // 010 is 8 to some readers
		r.wrong(n, limits.Hint(), "%s must be a plain whole number, not %s", what, quote(n.Value))
		return 0, false
	}
	return int(value), true
}

// most reports a list that is too long to be read.
func (r *reader) most(at *yaml.Node, what string, are, most int) bool {
	r.check(fields{at: at}, func(c *experiment.Checker) { c.Most(experiment.AtValue(), what, are, most) })
	return are <= most
}

// truth reads true or false.
func (r *reader) truth(n *yaml.Node, what string) bool {
	if !r.isScalar(n, what, "true") {
		return false
	}
	if n.ShortTag() != "!!bool" || n.Value != "true" && n.Value != "false" {
		r.wrong(n, "write true or false", "%s cannot be %s", what, quote(n.Value))
	}
	return n.Value == "true"
}

// refuse reports the error of a check of a single value, if there is one.
func (r *reader) refuse(n *yaml.Node, what string, err error) {
	if err == nil {
		return
	}
	hint, message := "", err.Error()
	if q := (*experiment.QuantityError)(nil); errors.As(err, &q) {
		hint, message = q.Hint, q.Message
	}
	r.wrong(n, hint, "%s: %s", what, message)
}

// bare writes a short number from the file without quotes, and quotes any other text.
func bare(s string) string {
	if len(s) <= 20 && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsDigit(c) && c != '-' }) < 0 {
		return s
	}
	return quote(s)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// kindName names the kind of a node, for messages that another kind is needed.
func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + bare(n.Value)
	case "!!bool":
		return "the truth value " + quote(n.Value)
	case "!!timestamp":
		return "the date " + quote(n.Value)
	}
	return "the text " + quote(n.Value)
}
