package file

import (
	"slices"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// check applies rules to the part of the file that the fields are, and reports what they find. A rule finds nothing at
// a value that could not be read. What it finds at a value that the file does not give follows from another mistake: a
// default is not wrong by itself.
func (r *reader) check(f fields, rules func(c *experiment.Checker)) {
	f.reader = r
	unsound := func(one experiment.Finding) bool { return !f.Sound(one.Spot) }
	found := slices.DeleteFunc(experiment.Findings(f, rules), unsound)
	for _, inFile := range []bool{true, false} {
		for _, one := range found {
			at, there := f.find(one.Path)
			if there != inFile || !inFile && r.count() > 0 {
				continue
			}
			n := at.value
			if one.AtKey {
				n = at.key
			}
			r.wrong(n, one.Hint, "%s", one.Message)
		}
	}
}

// Given says that the file has a node at a path.
func (f fields) Given(path []string) bool {
	_, there := f.find(path)
	return there
}

// Misspelt says that an unknown key probably stands for this one.
func (f fields) Misspelt(key string) bool { return f.suspected[key] }

// Sound says that the nodes on the way to a spot have no mistakes.
func (f fields) Sound(s experiment.Spot) bool {
	if len(s.Path) == 0 {
		return true
	}
	if _, there := f.named[s.Path[0]]; !there && f.suspected[s.Path[0]] {
		return false
	}
	for end := 1; end <= len(s.Path); end++ {
		at, there := f.find(s.Path[:end])
		inValue := end < len(s.Path) || !s.AtKey
		if r := f.reader; there && (r.faulty[at.key] || inValue && (r.faulty[at.value] || r.unset[at.value])) {
			return false
		}
	}
	return true
}

// find gives the key and the value at the end of a path. If the file does not have them, it gives the key of the
// innermost part that it has, twice.
func (f fields) find(path []string) (at field, there bool) {
	if len(path) == 0 {
		return field{f.at, f.at}, true
	}
	at, there = f.named[path[0]]
	if !there {
		return field{f.at, f.at}, false
	}
	for _, step := range path[1:] {
		next, ok := at.child(step)
		if !ok {
			return field{at.key, at.key}, false
		}
		at = next
	}
	return at, true
}

// child finds a key of a mapping, or an item of a list. A single value can stand for a mapping: bridge for {bridge: },
// and a secret's name for {name: NAME}.
func (f field) child(step string) (field, bool) {
	switch f.value.Kind {
	case yaml.MappingNode:
		for key, value := range pairs(f.value) {
			if key.Value == step {
				return field{key, value}, true
			}
		}
	case yaml.SequenceNode:
		for i, n := range f.value.Content {
			if step == experiment.Item(i) {
				return field{n, n}, true
			}
		}
	case yaml.ScalarNode:
		return field{f.value, f.value}, step == f.value.Value || step == "name"
	}
	return field{}, false
}
