package experiment

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"text/template"

	"nearfar/internal/check"
)

//go:embed schema.json.tmpl
var schema string

// Schema gives the JSON Schema (draft 2020-12) of the experiment file, for editors. The tools' names, modes and limits
// in it come from what the tools declare. A schema describes single values; what depends on several values together (a
// baseline that exists, a mode that the tool has) only Parse checks. Wherever a value is a single one, it can be a text
// with a variable.
func Schema(tools Tools) []byte { return withVariables(plainSchema(tools)) }

// plainSchema is the schema of a file without variables.
func plainSchema(tools Tools) []byte {
	words := func(all []string) (string, error) {
		text, err := json.Marshal(all)
		return string(text), err
	}
	t, err := template.New("schema").Funcs(template.FuncMap{
		"words": words, "encapsulations": check.Encapsulations,
	}).Parse(schema)
	var out bytes.Buffer
	if err == nil {
		err = t.Execute(&out, toolWords{tools})
	}
	if err != nil {
		panic(fmt.Sprintf("the schema of this program is broken: %v", err)) // it is a constant, and a test executes it
	}
	return out.Bytes()
}
