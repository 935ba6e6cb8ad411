// Package typescript writes types of Go as types of TypeScript: those of the documents that encoding/json makes of
// them. The fields of embedded structs become fields of the struct around them, so that a struct can be split into
// embedded parts without a difference.
package typescript

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Document says which types are written.
type Document struct {
	// Types are the types to begin with. All structs that they refer to are written too.
	Types []reflect.Type
	// Names are the names of types that do not keep their own. Of two types with one name, the second that is found
	// gets the name of its package before its own.
	Names map[reflect.Type]string
	// Aliases are the definitions of types that write their own JSON. What writes itself as text needs none.
	Aliases map[reflect.Type]string
	// Words are the names of types for words that have no type in Go, each with one of the constants that are declared
	// together: "nearfar/internal/conclude/answer/figures.Higher". The words of a string type are its constants.
	Words map[string]string
	// Fields are types that Go's do not tell, by type and key: "Comparison.verdict"; "*.metric" is for every struct. If
	// one begins with "| ", it adds to what Go's type tells.
	Fields map[string]string
	// Root is the folder of the module, in which the constants are.
	Root string
}

// Write writes the declarations, sorted by name.
func (d Document) Write() (string, error) {
	w := writer{Document: d, types: map[string]reflect.Type{}, text: map[string]string{}, unused: maps.Clone(d.Fields)}
	for name, constant := range d.Words {
		all, err := words(d.Root, constant)
		if err != nil || len(all) == 0 {
			return "", cmp.Or(err, fmt.Errorf("there is no constant %s", constant))
		}
		w.text[name] = union(name, all)
	}
	for _, t := range d.Types {
		if _, err := w.use(t); err != nil {
			return "", err
		}
	}
	for field := range w.unused {
		return "", fmt.Errorf("there is no field %s", field)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.text)) {
		b.WriteString("\n" + w.text[name])
	}
	return b.String(), nil
}

type writer struct {
	Document
	// types and text are the types that are declared so far, and their declarations, by name.
	types map[string]reflect.Type
	text  map[string]string
	// unused are the Fields that no struct has had so far.
	unused map[string]string
}

// use gives the expression for a type, and declares what that refers to.
func (w *writer) use(t reflect.Type) (string, error) {
	if alias, ok := w.Aliases[t]; ok {
		return w.declare(t, func(name string) (string, error) { return "export type " + name + " = " + alias + ";\n", nil })
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "string", nil
	case p.Implements(reflect.TypeFor[json.Marshaler]()):
		return "", fmt.Errorf("%s writes its own JSON and has no alias", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean", nil
	case reflect.Interface:
		return "unknown", nil
	case reflect.String:
		if t.PkgPath() == "" {
			return "string", nil
		}
		all, err := words(w.Root, t.PkgPath()+"."+t.Name())
		if err != nil || len(all) == 0 {
			return "string", err
		}
		return w.declare(t, func(name string) (string, error) { return union(name, all), nil })
	case reflect.Struct:
		return w.declare(t, func(name string) (string, error) { return w.structure(name, t) })
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Array:
		of, err := w.use(t.Elem())
		return around(t, of), err
	}
	if zero := reflect.Zero(t); zero.CanInt() || zero.CanUint() || zero.CanFloat() {
		return "number", nil
	}
	return "", fmt.Errorf("%s has no type in TypeScript", t)
}

// around gives the expression for a pointer, map, slice or array of something.
func around(t reflect.Type, of string) string {
	switch t.Kind() {
	case reflect.Pointer:
		return of + " | null"
	case reflect.Map:
		return "Record<string, " + of + ">"
	case reflect.Array:
		return "[" + strings.Join(slices.Repeat([]string{of}, t.Len()), ", ") + "]"
	}
	if strings.Contains(of, " | ") {
		of = "(" + of + ")"
	}
	return of + "[]"
}

// declare declares a type, once, and gives its name.
func (w *writer) declare(t reflect.Type, text func(name string) (string, error)) (string, error) {
	name := cmp.Or(w.Names[t], t.Name())
	taken := func() bool { return w.text[name] != "" && w.types[name] != t }
	if taken() {
		pkg, _, _ := strings.Cut(t.String(), ".")
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	switch {
	case taken():
		return "", fmt.Errorf("%s needs a name of its own: %s is another type", t, name)
	case w.text[name] != "":
		return name, nil
	}
	w.types[name], w.text[name] = t, "declared below"
	var err error
	w.text[name], err = text(name)
	return name, err
}

// structure declares a struct.
func (w *writer) structure(name string, t reflect.Type) (string, error) {
	all, err := fields(t)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "export interface %s {\n", name)
	for _, f := range all {
		own, every := name+"."+f.key, "*."+f.key
		said := cmp.Or(w.Fields[own], w.Fields[every])
		delete(w.unused, own)
		delete(w.unused, every)
		if said == "" || strings.HasPrefix(said, "| ") {
			of, err := w.use(f.of)
			if err != nil {
				return "", fmt.Errorf("%s.%s: %w", name, f.key, err)
			}
			if f.optional != "" {
				of = strings.TrimSuffix(of, " | null")
			}
			said = strings.TrimSpace(of + " " + said)
		}
		fmt.Fprintf(&b, "  %s%s: %s;\n", f.key, f.optional, said)
	}
	return b.String() + "}\n", nil
}

// field is a field of a document. optional is "?" if it can be left out.
type field struct {
	key, optional string
	of            reflect.Type
}

// fields lists the fields that encoding/json writes. It refuses what the documents do not have: embedded pointers,
// numbers in strings, and two fields with one key.
func fields(t reflect.Type) ([]field, error) {
	var all []field
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		key, options, _ := strings.Cut(tag, ",")
		own := []field{{key: cmp.Or(key, f.Name), of: f.Type}}
		switch {
		case tag == "-" || !f.Anonymous && !f.IsExported():
			continue
		case f.Anonymous && f.Type.Kind() != reflect.Struct || strings.Contains(options, "string"):
			return nil, fmt.Errorf("%s.%s cannot be written", t, f.Name)
		case f.Anonymous && key == "":
			var err error
			if own, err = fields(f.Type); err != nil {
				return nil, err
			}
		case strings.Contains(options, "omit"):
			own[0].optional = "?"
		}
		for _, f := range own {
			if slices.ContainsFunc(all, func(before field) bool { return before.key == f.key }) {
				return nil, fmt.Errorf("%s has two fields %q", t, f.key)
			}
			all = append(all, f)
		}
	}
	return all, nil
}
