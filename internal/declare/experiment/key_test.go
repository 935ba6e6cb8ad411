package experiment

import (
	"maps"
	"slices"
	"testing"
)

// A tool can only declare keys that exist, a number with limits and the others without.
func TestToolsDeclareKnownKeys(t *testing.T) {
	seen := 0
	for _, c := range testTools.All() {
		for _, name := range c.Keys {
			seen++
			if k := keyOf(name); k.taken == nil || !k.taken(c) {
				t.Errorf("%s lists %s in its keys, and does not take it", c, name)
			}
		}
		for name, limits := range c.Numbers {
			seen++
			if k := keyOf(name); k.within == nil || k.within(c) != limits || !k.IsTaken(c) {
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
	for _, k := range Keys() {
		if in := slices.Contains(compared, k.Name); !k.General && in == (k.apart != nil) {
			t.Errorf("%s: among the parts %v, and apart %v", k.Name, in, k.apart != nil)
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

// Every key with a condition is looked at, and what an arm sets can be taken out.
func TestConditions(t *testing.T) {
	on := true
	all := Workload{Duration: 1, Warmup: 2, Interval: 3, ZeroCopy: true, Placement: Placement{Client: []int{1}},
		Socket: Socket{Wait: WaitSpin, Congestion: "bbr", NoDelay: &on, DSCP: 4, SendBuffer: 5, ReceiveBuffer: 6},
		Web:    Web{CA: "a", CertificateEnv: "B", HeadersEnv: map[string]string{"C": "D"}}}
	conditions := func(w Workload) string { return written(w.Conditions()) }
	var names, keys []string
	for _, p := range all.Conditions() {
		names = append(names, p.Name)
	}
	want := []string{"duration", "warm-up", "interval", "zerocopy", "sockets", "access", "placement"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for _, k := range Keys() {
		if k.apart == nil {
			continue
		}
		if name, _ := k.apart(all); name == "" {
			continue
		}
		keys = append(keys, k.Name)
		less := all
		k.reset(&less)
		if conditions(less) == conditions(all) || conditions(all.Without([]string{k.Name})) != conditions(less) {
			t.Errorf("%s: %s, without it %s", k.Name, conditions(all), conditions(all.Without([]string{k.Name})))
		}
	}
	if none := (Workload{}); len(keys) != 14 || conditions(all.Without(keys)) != conditions(none) {
		t.Errorf("without %q: %s", keys, conditions(all.Without(keys)))
	}
}
