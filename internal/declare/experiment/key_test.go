package experiment

import (
	"maps"
	"slices"
	"testing"
)

// A tool can only declare keys that exist, a number with limits and the others without.
func TestToolsDeclareKnownKeys(t *testing.T) {
	seen := 0
	for _, c := range testTools.all() {
		for _, name := range c.Keys {
			seen++
			if k := keyOf(name); k.taken == nil || !k.taken(c) {
				t.Errorf("%s lists %s in its keys, and does not take it", c, name)
			}
		}
		for name, limits := range c.Numbers {
			seen++
			if k := keyOf(name); k.within == nil || k.within(c) != limits || !k.isTaken(c) {
				t.Errorf("%s has limits for %s, which is no key with a number", c, name)
			}
		}
	}
	if seen == 0 {
		t.Error("no tool declares a key")
	}
}

// A comparison looks at every key of a tool, among the parts of a workload or by itself.
func TestKeysAreCompared(t *testing.T) {
	var compared []string
	for _, p := range (Workload{}).Parts() {
		compared = append(compared, p.Key)
	}
	for _, k := range allKeys() {
		if in := slices.Contains(compared, k.name); !k.general && in == k.apart {
			t.Errorf("%s: among the parts %v, and apart %v", k.name, in, k.apart)
		}
	}
	w := Workload{Iterations: 5}
	parts := map[string]any{}
	for _, p := range w.Parts() {
		parts[p.Name] = p.Value
	}
	if parts["iterations"] != 5 || parts["batch"] != 0 {
		t.Errorf("the parts are %v", slices.Sorted(maps.Keys(parts)))
	}
}
