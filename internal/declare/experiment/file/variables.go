package file

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// Inputs are what an experiment file is read with, besides its own text. The zero value has no variables and no further
// hosts.
type Inputs struct {
	// Variable gives the value of a variable; the second result is false if it is not set. It may be nil.
	Variable func(name string) (value string, ok bool)
	// Given are names of variables for suggestions, where another name is not set.
	Given []string
	// HostsName and Hosts are the name and the text of a file whose hosts are added to those of the experiment file.
	// They replace hosts of the same name. Hosts is nil without such a file.
	HostsName string
	Hosts     []byte
	// Made says that Hosts are the machines that Experiment.Provision has made.
	Made bool
}

// maxValue is the greatest length of a variable's value in bytes, and maxVariables how many values of a file can have
// variables.
const (
	maxValue     = 4096
	maxVariables = 5000
)

// The characters that stand for the braces of a variable while YAML is read. They are for private use (Unicode, Private
// Use Area), so YAML gives them no meaning.
const guardOpen, guardClose = "\ue000", "\ue001"

// guardVariables replaces the braces of ${NAME}, character for character. Between the brackets of YAML they would end
// the value: without this, {ssh: ${VM}} would need quotes.
func guardVariables(data []byte) []byte {
	return replaceVariables(data, "${", "}", "$"+guardOpen, guardClose)
}

// restoreVariables takes back guardVariables in all nodes below a node.
func restoreVariables(n *yaml.Node) {
	if strings.Contains(n.Value, guardOpen) {
		n.Value = string(replaceVariables([]byte(n.Value), "$"+guardOpen, guardClose, "${", "}"))
	}
	for _, child := range n.Content {
		restoreVariables(child)
	}
}

// replaceVariables replaces what stands before and after the names of variables.
func replaceVariables(text []byte, before, after, newBefore, newAfter string) []byte {
	var out []byte
	for {
		begin := bytes.Index(text, []byte(before))
		if begin < 0 {
			return append(out, text...)
		}
		name := text[begin+len(before):]
		end := bytes.IndexFunc(name, func(c rune) bool { return !experiment.IsVariable("_" + string(c)) })
		out = append(out, text[:begin]...)
		if end < 1 || !bytes.HasPrefix(name[end:], []byte(after)) {
			out = append(out, before...)
			text = name
			continue
		}
		out = append(append(append(out, newBefore...), name[:end]...), newAfter...)
		text = name[end+len(after):]
	}
}

// expandAll replaces the variables in all values of a file except those of hosts that the hosts file replaces.
func (r *reader) expandAll(top *yaml.Node) {
	for key, value := range pairs(top) {
		if key.Value == "hosts" && value.Kind == yaml.MappingNode {
			var replaced []string
			if r.further != nil {
				replaced = hostNames(r.further.top)
			}
			r.expandHosts(value, func(name string) bool { return !slices.Contains(replaced, name) })
			continue
		}
		r.expand(value)
	}
}

// expandHosts replaces the variables of those hosts whose names are wanted. Join strings are kept out of messages.
func (r *reader) expandHosts(hosts *yaml.Node, wanted func(name string) bool) {
	if len(hosts.Content) > 2*experiment.MaxHosts {
		return // then they are not read
	}
	for name, host := range pairs(hosts) {
		if !wanted(name.Value) {
			continue
		}
		for key, value := range pairs(host) {
			if key.Value == experiment.HostAgent && value.Kind == yaml.ScalarNode {
				r.expandSecret(value)
			}
		}
		r.expand(host)
	}
}

// expandSecret replaces the variables of a join string. It remembers the values, so that no message shows them, and
// the variable if the whole join string is one.
func (r *reader) expandSecret(n *yaml.Node) {
	written := n.Value
	for _, value := range append(r.expandScalar(n), n.Value) {
		const least = 6 // shorter texts are no secrets, and are parts of words
		if len(value) >= least && value != written {
			r.secrets = append(r.secrets, value)
		}
	}
	if experiment.Referenced(written) != "" {
		r.references[n] = written
	}
}

// expand replaces the variables in all scalar values below a node.
func (r *reader) expand(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		r.expandScalar(n)
	case yaml.SequenceNode:
		for _, item := range n.Content {
			r.expand(item)
		}
	case yaml.MappingNode:
		for _, value := range pairs(n) {
			r.expand(value)
		}
	}
}

// expandScalar replaces ${NAME} in a scalar by the value of the variable NAME, and $${ by ${. It returns the values. A
// value only becomes text of the scalar: a colon or a bracket in it has no meaning in YAML.
func (r *reader) expandScalar(n *yaml.Node) (values []string) {
	if !strings.Contains(n.Value, "${") || r.expandedNodes[n] {
		return nil
	}
	r.expandedNodes[n] = true
	if excess := len(r.expandedNodes) - maxVariables; excess > 0 {
		if excess == 1 {
			r.wrong(n, "at most "+strconv.Itoa(maxVariables), "too many values of this file have variables")
		}
		r.unset[n] = true
		return nil
	}
	var text strings.Builder
	rest := n.Value
	for {
		before, after, found := strings.Cut(rest, "${")
		if literal, ok := strings.CutSuffix(before, "$"); found && ok {
			text.WriteString(literal + "${")
			rest = after
			continue
		}
		text.WriteString(before)
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		if !closed || !experiment.IsVariable(name) {
			r.wrongVariable(n, "${"+name, "write ${NAME}, or $${ for the characters ${",
				"a variable's name has letters, digits and _")
			return values
		}
		value, ok := r.variable(n, name)
		if !ok {
			return values
		}
		values = append(values, value)
		text.WriteString(value)
		rest = behind
	}
	n.Value = text.String()
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 {
		n.Tag = plainTag(n.Value)
	}
	return values
}

// variable gives the value of a variable. The second result is false if it is not set or cannot be used; this is then
// reported, without the value.
func (r *reader) variable(n *yaml.Node, name string) (string, bool) {
	var value string
	var ok bool
	if r.inputs.Variable != nil {
		value, ok = r.inputs.Variable(name)
	}
	at, hint := "${"+name+"}", ""
	switch {
	case !ok:
		hint = "set it in the environment, or with --set " + name + "=VALUE"
		if near := experiment.Nearest(name, r.inputs.Given); near != "" {
			hint += "; did you mean " + quote(near) + "?"
		}
		r.wrongVariable(n, at, hint, "variable "+name+" is not set")
	case value == "":
		r.wrongVariable(n, at, "give it a value", "variable "+name+" is empty")
	case len(value) > maxValue:
		r.wrongVariable(n, at, "a value has at most "+experiment.FormatSize(maxValue),
			"the value of variable "+name+" is too long")
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.wrongVariable(n, at, "give it plain text", "the value of variable "+name+
			" holds a character that cannot be printed")
	default:
		return value, true
	}
	return "", false
}

// wrongVariable reports a mistake at the place of a variable within a scalar. The scalar then has no other mistakes,
// since its value is not known.
func (r *reader) wrongVariable(n *yaml.Node, written, hint, message string) {
	column := n.Column
	// Lines can be long, so the place is looked for only in the first mistakes, which are shown.
	if n.Line >= 1 && n.Line <= len(r.source.lines) && len(r.mistakes) < maxRendered {
		line := []rune(r.source.lines[n.Line-1])
		rest := string(line[min(max(n.Column-1, 0), len(line)):])
		if before, _, found := strings.Cut(rest, written); found {
			column += utf8.RuneCountInString(before)
		}
	}
	r.add(n.Line, column, message, hint)
	r.unset[n] = true
}

// plainTag is the tag that YAML gives to a text without quotes: a number becomes a number. A text that YAML would read
// as more than one scalar is text.
func plainTag(text string) string {
	const str = "!!str"
	var document yaml.Node
	if err := yaml.Load([]byte(text), &document); err != nil || len(document.Content) != 1 {
		return str
	}
	n := document.Content[0]
	if n.Kind != yaml.ScalarNode || n.Value != text || n.Anchor != "" || strings.HasPrefix(text, "!") {
		return str
	}
	return n.Tag
}

// hidden replaces join strings, and the values of variables that are part of one, in a message.
func (r *reader) hidden(message string) string {
	for _, secret := range r.secrets {
		message = strings.ReplaceAll(message, secret, experiment.HiddenJoin)
	}
	return coverJoins(message, func(string) string { return experiment.HiddenJoin })
}

// withoutJoins replaces the characters of join strings in the text of a file by stars, so that columns stay.
func withoutJoins(text string) string {
	return coverJoins(text, func(secret string) string { return strings.Repeat("*", len(secret)) })
}

// coverJoins replaces the text after joinPrefix, unless it is the name of the agent's program for Windows.
func coverJoins(text string, cover func(secret string) string) string {
	if !strings.Contains(text, experiment.JoinPrefix) {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, experiment.JoinPrefix)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := strings.IndexFunc(after, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.", c)
		})
		if end < 0 {
			end = len(after)
		}
		out.WriteString(experiment.JoinPrefix)
		switch {
		case after[:end] == "exe":
			out.WriteString("exe")
		case end > 0:
			out.WriteString(cover(after[:end]))
		}
		text = after[end:]
	}
}
