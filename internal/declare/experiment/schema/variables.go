package schema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// variableDefinition is the part of the schema that describes a text with a variable.
const variableDefinition = `{"description": "A text with a variable: ${NAME}.", "type": "string", ` +
	`"pattern": "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}"}`

// withVariables changes a schema so that every single value can also be a text with a variable.
func withVariables(plain []byte) []byte {
	var document, definition yaml.Node
	if err := yaml.Unmarshal(plain, &document); err != nil {
		panic(fmt.Sprintf("the schema of this program is broken: %v", err))
	}
	if err := yaml.Unmarshal([]byte(variableDefinition), &definition); err != nil {
		panic(fmt.Sprintf("the schema of this program is broken: %v", err))
	}
	root := document.Content[0]
	v := &variableSchema{root: root}
	v.object(root)
	definitions := member(root, "$defs")
	for _, d := range members(definitions) {
		v.object(d)
	}
	key := *definitions.Content[0]
	key.Value = "variable"
	definitions.Content = append(definitions.Content, &key, definition.Content[0])
	var out bytes.Buffer
	if err := json.Indent(&out, appendJSON(nil, root), "", "  "); err != nil {
		panic(fmt.Sprintf("the schema of this program is broken: %v", err))
	}
	out.WriteByte('\n')
	return out.Bytes()
}

type variableSchema struct{ root *yaml.Node }

// object changes the values of an object or an array, and those below them.
func (v *variableSchema) object(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for key, value := range members(n) {
		switch key.Value {
		case "properties":
			for i := 1; i < len(value.Content); i += 2 {
				value.Content[i] = v.value(value.Content[i])
			}
		case "additionalProperties", "items":
			if value.Kind == yaml.MappingNode {
				*value = *v.value(value)
			}
		case "oneOf":
			for _, choice := range value.Content {
				v.object(choice)
			}
		}
	}
}

// value gives the schema of a value that can also have a variable, if the value can be a single one.
func (v *variableSchema) value(n *yaml.Node) *yaml.Node {
	v.object(n)
	if !v.single(n) {
		return n
	}
	inner := *n
	inner.Content = nil
	for key, value := range members(n) {
		if key.Value != "description" {
			inner.Content = append(inner.Content, key, value)
		}
	}
	text := func(value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle}
	}
	list := func(kind yaml.Kind, content ...*yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: kind, Content: content}
	}
	outer := list(yaml.MappingNode)
	if about := member(n, "description"); about != nil {
		outer.Content = append(outer.Content, text("description"), about)
	}
	outer.Content = append(outer.Content, text("anyOf"), list(yaml.SequenceNode, &inner,
		list(yaml.MappingNode, text("$ref"), text("#/$defs/variable"))))
	return outer
}

// single reports whether a value can be a single one, and not yet any text.
func (v *variableSchema) single(n *yaml.Node) bool {
	r := reference{root: v.root}
	for definition(n) != "" {
		n = r.resolve(n)
	}
	switch kind := text(n, "type"); {
	case member(n, "not") != nil, kind == "object", kind == "array":
		return false
	case kind == "string":
		return member(n, "pattern") != nil
	case member(n, "type") != nil && member(n, "type").Kind == yaml.SequenceNode: // an object, or nothing
		return false
	}
	return true
}

// appendJSON writes a node as JSON, with the keys in their order.
func appendJSON(out []byte, n *yaml.Node) []byte {
	separate := func(i int) {
		if i > 0 {
			out = append(out, ',')
		}
	}
	switch {
	case n.Kind == yaml.MappingNode:
		out = append(out, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			separate(i)
			out = appendJSON(out, n.Content[i])
			out = append(out, ':')
			out = appendJSON(out, n.Content[i+1])
		}
		return append(out, '}')
	case n.Kind == yaml.SequenceNode:
		out = append(out, '[')
		for i, item := range n.Content {
			separate(i)
			out = appendJSON(out, item)
		}
		return append(out, ']')
	case n.ShortTag() != "!!str":
		return append(out, n.Value...) // numbers and truth values are written as JSON writes them
	}
	quoted, err := json.Marshal(n.Value)
	if err != nil {
		panic(err) // a text always has one
	}
	return append(out, quoted...)
}
