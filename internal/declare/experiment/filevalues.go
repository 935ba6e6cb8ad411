package experiment

import "go.yaml.in/yaml/v4"

// values are the values of a mapping, for keys of workloads.
type values struct {
	reader *reader
	fields fields
}

// readAt reads the value of a key, if the mapping has it.
func readAt[T any](v values, key string, read func(n *yaml.Node) (T, bool)) (is T, given bool) {
	at, given := v.reader.optional(v.fields, key)
	if given {
		is, _ = read(at.value)
	}
	return is, given
}

// Whole reads a whole number.
func (v values) Whole(key string, limits Range) (is int, given bool) {
	return readAt(v, key, func(n *yaml.Node) (int, bool) { return v.reader.whole(n, key, limits) })
}

// Truth reads true or false.
func (v values) Truth(key string) (is, given bool) {
	return readAt(v, key, func(n *yaml.Node) (bool, bool) { return v.reader.truth(n, key), true })
}

// Word reads a single value as it is written.
func (v values) Word(key, example string) (is string, given bool) {
	return readAt(v, key, func(n *yaml.Node) (string, bool) { return v.reader.scalar(n, key, example), true })
}

// Text reads a value that must be text.
func (v values) Text(key, example string) (is string, given bool) {
	return readAt(v, key, func(n *yaml.Node) (string, bool) { return v.reader.text(n, key, example) })
}

// Parsed reads a single value that a function parses.
func (v values) Parsed(key, example string, parse func(text string) error) (given bool) {
	_, given = readAt(v, key, func(n *yaml.Node) (struct{}, bool) {
		return quantity(v.reader, n, key, example, func(text string) (none struct{}, err error) { return none, parse(text) })
	})
	return given
}
