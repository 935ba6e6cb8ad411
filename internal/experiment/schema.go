package experiment

import _ "embed"

//go:embed schema.json
var schema string

// Schema gives the JSON Schema (draft 2020-12) of the experiment file, for editors. It knows the shape of the file; what
// depends on several values together (a baseline that exists, a mode that the tool has) only Parse checks.
func Schema() []byte { return []byte(schema) }
