package check

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Needs says which values an expectation can have: "true or false"; empty for an unknown name.
func (e Expectation) Needs() string { return questions()[e.Name].kind }

// Text is the expectation in a line: "same-zone", "same-zone false", "mtu 1500", "fact client.model EPYC".
func (e Expectation) Text() string {
	subject := e.Subject()
	switch v := e.Value.(type) {
	case bool:
		if v {
			return subject
		}
		return subject + " false"
	case float64:
		return subject + " " + strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprintf("%s %v", subject, e.Value)
}

// Subject is the expectation without its value: "mtu", "fact client.model".
func (e Expectation) Subject() string {
	if e.Path == "" {
		return e.Name
	}
	return e.Name + " " + e.Path
}

// Same reports whether two expectations expect the same. Numbers of Go and of JSON are the same.
func (e Expectation) Same(o Expectation) bool {
	if e.Name != o.Name || e.Path != o.Path {
		return false
	}
	a, isNumber := numeric(e.Value)
	b, isToo := numeric(o.Value)
	if isNumber || isToo {
		return isNumber && isToo && a == b
	}
	switch e.Value.(type) {
	case bool, string:
		return e.Value == o.Value
	}
	return false
}

// Encapsulations are the values of ExpectEncapsulation: the tunnels that are known, and none.
func Encapsulations() []string { return append(tunnels(), PlainPackets) }

// FactNames are the names with which the path of a fact can begin, without the side.
func FactNames() []string {
	names := factNames(reflect.TypeFor[Facts]())
	slices.Sort(names)
	return names
}

// factNames are the keys of a structure's JSON.
func factNames(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			names = append(names, factNames(field.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}

// FactPath divides the path of a fact into a side ("client", "server", or empty for both) and the rest.
func FactPath(path string) (side, rest string) {
	for _, side := range []string{"client", "server"} {
		if rest, ok := strings.CutPrefix(path, side+"."); ok {
			return side, rest
		}
	}
	return "", path
}
