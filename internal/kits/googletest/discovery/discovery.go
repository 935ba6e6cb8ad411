// Package discovery has facts of Google's discovery document of the Compute Engine API: the methods that tests use,
// with their paths and parameters, and the types of what is sent and answered. compute.json has them; TestExtract makes it
// from the document that the Go module google.golang.org/api has, in the version that OpenTofu needs
// (internal/kits/tofutest/opentofu/go.mod). No prose of the document is kept.
package discovery

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
)

//go:embed compute.json
var compute []byte

// A Document is the part of a discovery document that tests use. The words are those of
// https://developers.google.com/discovery/v1/reference/apis.
type Document struct {
	// Source is the file and its module with the version, Revision the document's own revision, such as 20260227.
	Source   string `json:"source"`
	Revision string `json:"revision"`
	// Methods are by their identifiers without the name of the API: instances.insert.
	Methods map[string]*Method `json:"methods"`
	// Common are the query parameters of every method.
	Common  map[string]*Type `json:"common"`
	Schemas map[string]*Type `json:"schemas"`
}

// A Method is a method of the API.
type Method struct {
	HTTP string `json:"http"`
	// Path has its parameters in braces, relative to /compute/v1/.
	Path       string           `json:"path"`
	Parameters map[string]*Type `json:"parameters"`
	// Request and Response are names of schemas; Request is empty if nothing is sent.
	Request  string `json:"request,omitempty"`
	Response string `json:"response"`
}

// A Type is the type of a value, of a parameter, or of the fields of an object.
type Type struct {
	// In is path or query for a parameter.
	In string `json:"in,omitempty"`
	// Ref is the name of a schema. Other members are empty then, but for Output.
	Ref     string   `json:"ref,omitempty"`
	Type    string   `json:"type,omitempty"`
	Format  string   `json:"format,omitempty"`
	Pattern string   `json:"pattern,omitempty"`
	Enum    []string `json:"enum,omitempty"`
	Minimum string   `json:"minimum,omitempty"`
	Maximum string   `json:"maximum,omitempty"`
	// Required says that a parameter is required, RequiredFor which methods require a field, as Methods names them.
	Required    bool     `json:"required,omitempty"`
	RequiredFor []string `json:"requiredFor,omitempty"`
	// Output says that only the service sets a field.
	Output bool `json:"output,omitempty"`
	// Items is the type of an array's elements. Values is the type of a map's values.
	Items      *Type            `json:"items,omitempty"`
	Values     *Type            `json:"values,omitempty"`
	Properties map[string]*Type `json:"properties,omitempty"`
}

// Compute is the document of the Compute Engine API.
func Compute() *Document {
	d := &Document{}
	if err := json.Unmarshal(compute, d); err != nil {
		panic(err) // the file is a part of the program
	}
	return d
}

// Find finds the method of a request by its verb and its path after /compute/v1/, and the values of the parameters in
// the path. Its name is empty if there is none.
func (d *Document) Find(verb, path string) (name string, values map[string]string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for name, m := range d.Methods {
		if values, ok := m.match(parts); ok && m.HTTP == verb {
			return name, values
		}
	}
	return "", nil
}

func (m *Method) match(parts []string) (map[string]string, bool) {
	wanted := strings.Split(m.Path, "/")
	if len(wanted) != len(parts) {
		return nil, false
	}
	values := map[string]string{}
	for i, want := range wanted {
		name, isParameter := strings.CutPrefix(want, "{")
		switch {
		case isParameter:
			values[strings.TrimSuffix(name, "}")] = parts[i]
		case want != parts[i]:
			return nil, false
		}
	}
	return values, true
}

// Matches says whether a text matches a pattern of the document as a whole.
func Matches(pattern, text string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(text)
}
