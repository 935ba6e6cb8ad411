// Package schema makes the JSON Schema of the experiment file, and the page that describes its keys, from the keys of
// the model and from what the tools declare.
package schema

import (
	_ "embed"
	"fmt"
	"strings"

	"nearfar/internal/declare/experiment"
)

//go:embed schema.json.tmpl
var schema string

// JSON gives the JSON Schema (draft 2020-12) of the experiment file, for editors. The tools' names, modes and limits
// in it come from what the tools declare. A schema describes single values; what depends on several values together (a
// baseline that exists, a mode that the tool has) only the reader checks. Wherever a value is a single one, it can be a
// text with a variable.
func JSON(tools experiment.Tools) []byte { return withVariables(plainSchema(tools)) }

// plainSchema is the schema of a file without variables.
func plainSchema(tools experiment.Tools) []byte { return []byte(toolWords{tools}.filled(schema)) }

// filled gives a text of the schema with what the tools declare in place of {{...}}.
func (t toolWords) filled(template string) string {
	var out strings.Builder
	for rest := template; ; {
		before, after, found := strings.Cut(rest, "{{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		place, after, _ := strings.Cut(after, "}}")
		text, known := t.at(place)
		if !known {
			// The schema is a constant of this program, and a test fills every place.
			panic(fmt.Sprintf("the schema of this program is broken: nothing is known about {{%s}}", place))
		}
		out.WriteString(text)
		rest = after
	}
}
