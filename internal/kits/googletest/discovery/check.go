package discovery

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Problem is a value that is not as the document says.
type Problem struct {
	// Field is where it is: scheduling.onHostMaintenance, disks[0].type. Message says what is wrong.
	Field, Message string
	// Kind is unknown, type, enum, pattern, range or required.
	Kind string
	// Value is the value, if it is a text or a number, and Pattern what it does not match.
	Value, Pattern string
}

func (p Problem) String() string { return p.Field + ": " + p.Message }

// Request checks what is sent to a method: a JSON object. The problems are in the order of fields.
func (d *Document) Request(method string, body map[string]any) []Problem {
	m := d.Methods[method]
	if m.Request == "" {
		return nil
	}
	return (&checker{document: d, method: method}).value("", &Type{Ref: m.Request}, body)
}

// Response checks what a method answers.
func (d *Document) Response(method string, body map[string]any) []Problem {
	return (&checker{document: d}).value("", &Type{Ref: d.Methods[method].Response}, body)
}

// Parameters checks the parameters of a request. in is path or query.
func (d *Document) Parameters(method, in string, values map[string]string) (all []Problem) {
	c := &checker{document: d}
	parameters := d.Methods[method].Parameters
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t := parameters[name]
		if t == nil {
			t = d.Common[name]
		}
		if t == nil || t.In != in {
			all = append(all, Problem{Field: name, Kind: "unknown", Message: "the method has no such parameter"})
			continue
		}
		all = append(all, c.parameter(name, t, values[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if t := parameters[name]; t.In == in && t.Required && values[name] == "" {
			all = append(all, Problem{Field: name, Kind: "required", Message: "it is required"})
		}
	}
	return all
}

// checker checks values. method is empty for answers, in which nothing is required.
type checker struct {
	document *Document
	method   string
}

// parameter checks a parameter, which is written as text.
func (c *checker) parameter(name string, t *Type, text string) []Problem {
	var value any = text
	switch t.Type {
	case "boolean":
		// Python's clients write True.
		b, err := strconv.ParseBool(text)
		if err != nil {
			break
		}
		value = b
	case "integer":
		if _, err := strconv.Atoi(text); err == nil {
			value = json.Number(text)
		}
	}
	return c.value(name, t, value)
}

func (c *checker) value(field string, t *Type, value any) []Problem {
	if t.Ref != "" {
		t = c.document.Schemas[t.Ref]
	}
	switch t.Type {
	case "object":
		return c.object(field, t, value)
	case "array":
		return c.array(field, t, value)
	case "any":
		return nil
	}
	return c.scalar(field, t, value)
}

func (c *checker) object(field string, t *Type, value any) (all []Problem) {
	object, ok := value.(map[string]any)
	if !ok {
		return []Problem{wrong(field, value, "an object")}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		inner, known := t.Properties[name]
		if !known {
			inner = t.Values
		}
		if inner == nil {
			all = append(all, Problem{Field: join(field, name), Kind: "unknown", Message: "there is no such field"})
			continue
		}
		if object[name] != nil { // null is as if it were absent
			all = append(all, c.value(join(field, name), inner, object[name])...)
		}
	}
	if c.method == "" {
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(t.Properties)) {
		if slices.Contains(t.Properties[name].RequiredFor, c.method) && object[name] == nil {
			all = append(all, Problem{Field: join(field, name), Kind: "required", Message: "it is required"})
		}
	}
	return all
}

func (c *checker) array(field string, t *Type, value any) (all []Problem) {
	list, ok := value.([]any)
	if !ok {
		return []Problem{wrong(field, value, "an array")}
	}
	for i, element := range list {
		if element == nil {
			continue // hashicorp/google 7.19.0 sends "nodeAffinities": [null] with every instance, and the service takes it
		}
		all = append(all, c.value(fmt.Sprintf("%s[%d]", field, i), t.Items, element)...)
	}
	return all
}

func (c *checker) scalar(field string, t *Type, value any) []Problem {
	switch t.Type {
	case "boolean":
		if _, ok := value.(bool); !ok {
			return []Problem{wrong(field, value, "true or false")}
		}
		return nil
	case "integer", "number":
		number, ok := value.(json.Number)
		if !ok {
			return []Problem{wrong(field, value, "a number")}
		}
		return c.number(field, t, number.String())
	}
	text, ok := value.(string)
	if !ok {
		return []Problem{wrong(field, value, "a string")}
	}
	problem := Problem{Field: field, Value: text}
	switch {
	case len(t.Enum) > 0 && !slices.Contains(t.Enum, text):
		problem.Kind, problem.Message = "enum", fmt.Sprintf("%q is none of %s", text, strings.Join(t.Enum, ", "))
	case t.Pattern != "" && !Matches(t.Pattern, text):
		problem.Kind, problem.Pattern = "pattern", t.Pattern
		problem.Message = fmt.Sprintf("%q does not match %s", text, t.Pattern)
	case t.Format == "int64", t.Format == "uint64":
		return c.number(field, t, text) // written as strings, because numbers of JSON have 53 bits
	case t.Format == "byte" && !isBase64(text):
		problem.Kind, problem.Message = "type", fmt.Sprintf("%q is not base64", text)
	case t.Format == "date-time" && !isTime(text):
		problem.Kind, problem.Message = "type", fmt.Sprintf("%q is no time of RFC 3339", text)
	default:
		return nil
	}
	return []Problem{problem}
}

// number checks the range of a number.
func (c *checker) number(field string, t *Type, text string) []Problem {
	n, ok := new(big.Float).SetString(text)
	if !ok || t.Format != "double" && t.Format != "float" && !n.IsInt() {
		return []Problem{wrong(field, text, "a number of format "+t.Format)}
	}
	least, most := t.Minimum, t.Maximum
	for _, limit := range []struct{ format, least, most string }{
		{"int32", "-2147483648", "2147483647"}, {"uint32", "0", "4294967295"},
		{"int64", "-9223372036854775808", "9223372036854775807"}, {"uint64", "0", "18446744073709551615"},
	} {
		if t.Format == limit.format {
			least, most = or(least, limit.least), or(most, limit.most)
		}
	}
	for _, limit := range []struct {
		text string
		sign int
	}{{least, -1}, {most, 1}} {
		if end, ok := new(big.Float).SetString(limit.text); ok && n.Cmp(end) == limit.sign {
			return []Problem{{Field: field, Kind: "range", Value: text,
				Message: fmt.Sprintf("%s is not from %s to %s", text, least, most)}}
		}
	}
	return nil
}

func wrong(field string, value any, want string) Problem {
	return Problem{Field: field, Kind: "type", Value: fmt.Sprint(value),
		Message: fmt.Sprintf("%v is not %s", value, want)}
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func isBase64(text string) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		if _, err := encoding.DecodeString(text); err == nil {
			return true
		}
	}
	return false
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
