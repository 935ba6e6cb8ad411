package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// Reference gives the reference of the experiment file in Markdown: a table for each kind of object, made from the
// schema, and a table of the tools. So it says the same as editors do.
func Reference(tools experiment.Tools) []byte {
	var document yaml.Node
	if err := yaml.Unmarshal(plainSchema(tools), &document); err != nil {
		panic(fmt.Sprintf("the schema of this program is broken: %v", err))
	}
	r := &reference{root: document.Content[0], written: map[*yaml.Node]string{}, described: map[*yaml.Node]string{}}
	r.out.WriteString(`# Reference of the experiment file

Every key, made from the schema by ` + "`nearfar schema --format markdown`" + `.
What the keys are for, with examples, is in
[experiment-file.md](experiment-file.md).
Each single value can have variables: ${NAME}.
`)
	r.object("The file", r.root)
	for len(r.waiting) > 0 {
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.object(next.title, next.node)
	}
	r.scalars()
	r.out.WriteString("\n## What each tool measures\n\n" +
		"The limits, and the keys that it takes, made from what the tools declare.\n\n")
	r.out.WriteString(table(tools))
	// Descriptions name pages by their paths, because editors show them too.
	return regexp.MustCompile(`docs/([a-z-]+\.md)(#[a-z-]+)?`).ReplaceAll(r.out.Bytes(), []byte("[$1]($1$2)"))
}

// reference is the page while it is written.
type reference struct {
	out  bytes.Buffer
	root *yaml.Node
	// waiting are objects that are linked but not yet written. written holds the titles of those that are linked.
	waiting []titled
	written map[*yaml.Node]string
	// named are the definitions of scalars that are linked, in the order of their first link.
	named []string
	// described holds the title of the table that has the description of a node. A key that stands in several tables
	// is described in the first of them.
	described map[*yaml.Node]string
}

type titled struct {
	title string
	node  *yaml.Node
}

// member gives the value of a key of a mapping, or nil.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for k, value := range members(n) {
		if k.Value == key {
			return value
		}
	}
	return nil
}

// members gives the keys and values of a mapping in their order.
func members(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content) && yield(n.Content[i], n.Content[i+1]); i += 2 {
		}
	}
}

func text(n *yaml.Node, key string) string {
	if m := member(n, key); m != nil {
		return m.Value
	}
	return ""
}

// object writes the table of an object's keys.
func (r *reference) object(title string, n *yaml.Node) {
	fmt.Fprintf(&r.out, "\n## %s\n", title)
	if about := text(n, "description"); about != "" {
		fmt.Fprintf(&r.out, "%s\n", about)
	}
	r.out.WriteString("\n| key | value | default | |\n|---|---|---|---|\n")
	required := map[string]bool{}
	if list := member(n, "required"); list != nil {
		for _, item := range list.Content {
			required[item.Value] = true
		}
	}
	for name, value := range members(member(n, "properties")) {
		key := name.Value
		if member(value, "not") != nil {
			continue // of a later version
		}
		standard := ""
		if d := member(value, "default"); d != nil {
			standard = "`" + d.Value + "`"
		}
		if required[key] {
			standard = "must be given"
		}
		fmt.Fprintf(&r.out, "| `%s` | %s | %s | %s |\n", key, r.value(key, value), standard, r.about(title, value))
	}
}

// about says in the table with the title what a key is for, or names the earlier table that says it.
func (r *reference) about(title string, n *yaml.Node) string {
	for text(n, "description") == "" && definition(n) != "" {
		n = r.resolve(n)
	}
	about := text(n, "description")
	if about == "" {
		return ""
	}
	if earlier, found := r.described[n]; found && earlier != title {
		return fmt.Sprintf("See [%[1]s](#%[1]s).", strings.Trim(earlier, "`"))
	}
	r.described[n] = title
	return strings.ReplaceAll(about, "|", `\|`)
}

// resolve follows a reference to a definition, or to a part of one.
func (r *reference) resolve(n *yaml.Node) *yaml.Node {
	name := definition(n)
	if name == "" {
		return n
	}
	target := member(r.root, "$defs")
	for key := range strings.SplitSeq(name, "/") {
		target = member(target, key)
	}
	return target
}

// definition is the name of the definition that a node refers to.
func definition(n *yaml.Node) string { return strings.TrimPrefix(text(n, "$ref"), "#/$defs/") }

// value says what a key takes.
func (r *reference) value(key string, n *yaml.Node) string {
	target := r.resolve(n)
	for definition(target) != "" {
		n, target = target, r.resolve(target)
	}
	switch {
	case member(target, "properties") != nil:
		return r.link(key, target)
	case member(target, "additionalProperties") != nil &&
		member(target, "additionalProperties").Kind == yaml.MappingNode:
		return "for each name" + count(target, "Properties") + ": " +
			r.value(strings.TrimSuffix(key, "s"), member(target, "additionalProperties"))
	case member(target, "items") != nil:
		return "list" + count(target, "Items") + " of " + r.value(strings.TrimSuffix(key, "s"), member(target, "items"))
	case member(target, "pattern") != nil && definition(n) != "":
		return r.scalar(definition(n))
	case member(target, "oneOf") != nil && (definition(n) == "duration" || definition(n) == "ratio"):
		return r.scalar(definition(n))
	case member(target, "oneOf") != nil:
		var all []string
		for _, choice := range member(target, "oneOf").Content {
			all = append(all, r.value(key, choice))
		}
		return strings.Join(all, ", or ")
	case member(target, "enum") != nil:
		var all []string
		for _, item := range member(target, "enum").Content {
			all = append(all, "`"+item.Value+"`")
		}
		return strings.Join(all, ", ")
	case member(target, "const") != nil:
		return "`" + text(target, "const") + "`"
	}
	return plainValue(target)
}

// plainValue says which values a number, text or flag can have.
func plainValue(n *yaml.Node) string {
	kind := member(n, "type")
	if kind == nil {
		return "see there"
	}
	name := kind.Value
	switch {
	case text(n, "maxProperties") == "0" && name == "object":
		return "`{}`"
	case text(n, "maxProperties") == "0":
		return "nothing"
	case kind.Kind == yaml.SequenceNode:
		var all []string
		for _, one := range kind.Content {
			all = append(all, jsonType(one.Value))
		}
		return strings.Join(all, ", or ")
	case name == "string" && text(n, "maxLength") != "" && text(n, "pattern") == "":
		return fmt.Sprintf("text of at most %s characters", text(n, "maxLength"))
	}
	name = jsonType(name)
	low, high := text(n, "minimum"), text(n, "maximum")
	if low != "" && high != "" {
		return name + ", " + low + " to " + high
	}
	if low != "" {
		return name + ", at least " + low
	}
	return name
}

// jsonType names a type of JSON.
func jsonType(kind string) string {
	switch kind {
	case "object":
		return "mapping"
	case "array":
		return "list"
	case "string":
		return "text"
	case "boolean":
		return "`true` or `false`"
	case "integer":
		return "whole number"
	}
	return kind
}

// count says how many items or properties there can be, in brackets.
func count(n *yaml.Node, what string) string {
	low, high := text(n, "min"+what), text(n, "max"+what)
	switch {
	case low != "" && high != "":
		return " (" + low + " to " + high + ")"
	case high != "":
		return " (at most " + high + ")"
	}
	return ""
}

// link makes a link to an object's table, which is written later.
func (r *reference) link(key string, n *yaml.Node) string {
	title, linked := r.written[n]
	if !linked {
		title = cmp.Or(text(n, "title"), key)
		r.written[n] = title
		r.waiting = append(r.waiting, titled{"`" + title + "`", n})
	}
	return fmt.Sprintf("[object](#%s)", title)
}

// scalar makes a link to a kind of text, which is written at the end.
func (r *reference) scalar(name string) string {
	if !slices.Contains(r.named, name) {
		r.named = append(r.named, name)
	}
	return fmt.Sprintf("[%s](#kinds-of-values)", name)
}

// scalars writes the kinds of texts that are linked.
func (r *reference) scalars() {
	r.out.WriteString("\n## Kinds of values\n\n| kind | looks like | |\n|---|---|---|\n")
	for _, name := range r.named {
		n := member(member(r.root, "$defs"), name)
		var all []string
		for _, choice := range choices(n) {
			switch {
			case member(choice, "pattern") != nil:
				all = append(all, "`"+strings.ReplaceAll(text(choice, "pattern"), "|", `\|`)+"`")
			case member(choice, "const") != nil:
				all = append(all, "`"+text(choice, "const")+"`")
			default:
				all = append(all, plainValue(choice))
			}
		}
		fmt.Fprintf(&r.out, "| %s | %s | %s |\n", name, strings.Join(all, ", or "), r.about("Kinds of values", n))
	}
}

func choices(n *yaml.Node) []*yaml.Node {
	if all := member(n, "oneOf"); all != nil {
		return all.Content
	}
	return []*yaml.Node{n}
}
