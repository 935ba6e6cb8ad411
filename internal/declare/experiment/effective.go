package experiment

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// notSet is shown for a key whose value the host or the tool chooses.
const notSet = "default"

// WorkloadIn gives the workload of this name as the arm runs it: with the values that the arm sets. The second result
// is false if there is no such workload.
func (e *Experiment) WorkloadIn(arm, name string) (Workload, bool) {
	if a, ok := e.Arm(arm); ok {
		for _, w := range a.Workloads {
			if w.Name == name {
				return w, true
			}
		}
	}
	return e.Workload(name)
}

// SetIn gives the values that an arm sets in a workload, by key. It gives nil if there are none.
func (e *Experiment) SetIn(arm, workload string) map[string]string {
	a, _ := e.Arm(arm)
	var set map[string]string
	for _, s := range a.Set {
		if slices.Contains(s.Workloads, workload) {
			if set == nil {
				set = map[string]string{}
			}
			set[s.Key] = s.Value
		}
	}
	return set
}

// SetOtherwise lists the keys of a workload that one of two arms sets, or both, and in which their values differ. The
// list is sorted.
func (e *Experiment) SetOtherwise(arm, other, workload string) []string {
	a, _ := e.WorkloadIn(arm, workload)
	b, _ := e.WorkloadIn(other, workload)
	keys := e.SetIn(arm, workload)
	if keys == nil {
		keys = map[string]string{}
	}
	maps.Copy(keys, e.SetIn(other, workload))
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if a.Value(key) != b.Value(key) {
			differ = append(differ, key)
		}
	}
	return differ
}

// LayersIn counts the layers of each arm in a workload, in the order of Arms. The layers are those of the arm's path
// and those of its set: one layer for each key whose value differs from the baseline's because one of the two arms sets
// it, such as "congestion=bbr". Keys that only occur together in the same arms are one layer
// ("protocol=udp,rate=1Gbit/s"), since the data cannot separate them. Declared layers replace all of these. Arms with
// other hosts than the baseline and without declared layers have a layer for their hosts, "hosts=vm-a/vm-b", if the
// workload has other layers at all.
func (e *Experiment) LayersIn(workload string) []map[string]int {
	all := make([]map[string]int, len(e.Arms))
	set := make([][]string, len(e.Arms)) // what each arm sets
	in := map[string]string{}            // in which arms
	for i, a := range e.Arms {
		all[i] = a.Layers
		if a.LayersDeclared {
			continue
		}
		w, _ := e.WorkloadIn(a.Name, workload)
		for _, key := range e.SetOtherwise(a.Name, e.Baseline, workload) {
			one := key + "=" + w.Value(key)
			set[i] = append(set[i], one)
			in[one] += a.Name + "\x00"
		}
	}
	for i, ones := range set {
		if len(ones) == 0 {
			continue
		}
		layers := map[string]int{}
		maps.Copy(layers, all[i])
		together := map[string][]string{}
		for _, one := range ones {
			together[in[one]] = append(together[in[one]], one)
		}
		for _, names := range together {
			layers[strings.Join(names, ",")]++
		}
		all[i] = layers
	}
	e.addHostLayers(all)
	return all
}

// HostsOf names the arm whose hosts an arm uses. An arm uses the hosts of an earlier arm with the same lab if the two
// set different values. Arms with equal labs and equal values have hosts of their own, except with HostsFrom. Arms that
// name the same client and server, and arms whose pods are equal and are used in the same way, use the hosts of the
// first of them. Arms can share pods without sharing hosts; see PodsOf.
func (e *Experiment) HostsOf(arm string) string {
	a, ok := e.Arm(arm)
	if !ok || a.Lab == nil {
		for _, o := range e.Arms {
			if (a.HasHosts() || a.Kubernetes != nil) && o.Lab == nil && a.sameHosts(o) {
				return o.Name
			}
		}
		return arm
	}
	lab := written(a.Lab)
	if o, ok := e.Arm(a.HostsFrom); ok && o.HostsFrom == "" && o.Lab != nil && written(o.Lab) == lab {
		return e.HostsOf(o.Name)
	}
	// The n-th arm of one lab and one set uses the n-th hosts of that lab.
	n := 0
	seen := map[string]int{}
	for _, o := range e.Arms {
		if o.Lab == nil || written(o.Lab) != lab {
			continue
		}
		key := written(o.Set)
		if o.Name == arm {
			n = seen[key]
			break
		}
		seen[key]++
	}
	clear(seen)
	for _, o := range e.Arms {
		if o.Lab == nil || written(o.Lab) != lab {
			continue
		}
		key := written(o.Set)
		if seen[key] == n {
			return o.Name
		}
		seen[key]++
	}
	return arm
}

// written gives a value as JSON text, for comparisons.
func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data always has a text
	}
	return string(text)
}

// SettingsText writes what an arm sets, in one line: "congestion bbr; wait spin in rr". A setting that changes every
// workload of the experiment does not name them. The text is empty for an arm that sets nothing.
func (e *Experiment) SettingsText(arm string) string {
	a, _ := e.Arm(arm)
	var parts []string
	for _, s := range a.Set {
		if len(s.Workloads) == len(e.Workloads) {
			parts = append(parts, s.Key+" "+s.Value)
		} else {
			parts = append(parts, s.String()+e.stays(a, s))
		}
	}
	return strings.Join(parts, "; ")
}

// stays names the workloads that keep another protocol than the one that an arm sets: its name says the arm's.
func (e *Experiment) stays(a Arm, s Setting) string {
	if s.Key != "protocol" {
		return ""
	}
	var names []string
	for _, w := range e.Workloads {
		own, ok := e.WorkloadIn(a.Name, w.Name)
		if ok && own.Protocol != s.Value && !slices.Contains(s.Workloads, w.Name) {
			names = append(names, w.Name+" stays with "+own.Protocol)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// Value writes the value of a key that an arm can set, in one line: "bbr", "1024B", "true". It gives "default" if the
// host or the tool chooses the value, and "" for an unknown key.
func (w Workload) Value(key string) string {
	if k := keyOf(key); k.value != nil {
		return k.value(w)
	}
	return ""
}

func orNotSet(word string) string { return cmp.Or(word, notSet) }

func noDelayText(on *bool) string {
	if on == nil {
		return notSet
	}
	return strconv.FormatBool(*on)
}

func sizeText(bytes int) string {
	if bytes == 0 {
		return notSet
	}
	return FormatSize(bytes)
}

func (w Workload) rateText() string {
	switch {
	case w.OfferedRate > 0:
		return FormatPerSecond(w.OfferedRate)
	case w.Rate > 0:
		return FormatRate(w.Rate)
	case w.Mode == Messages:
		return MaxRateWord
	}
	return notSet
}

// backgroundText writes the values of the background that are not the defaults: "stream, connections 2, congestion
// bbr".
func (w Workload) backgroundText() string {
	b := w.Background
	if b == nil {
		return "none"
	}
	usual := Workload{Connections: 1, Direction: Upload, Placement: Placement{Kind: PlacementSplit}}
	parts := []string{Stream}
	for _, key := range BackgroundKeys() {
		switch key {
		case "tool", "mode", "protocol":
			continue // there is one of each
		}
		if v := b.Value(key); v != usual.Value(key) {
			parts = append(parts, key+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

// String writes the placement: "split", or "client 0 1, server 2".
func (p Placement) String() string {
	if p.Kind != PlacementExplicit {
		return p.Kind
	}
	numbers := func(all []int) string {
		var words []string
		for _, n := range all {
			words = append(words, strconv.Itoa(n))
		}
		return strings.Join(words, " ")
	}
	return "client " + numbers(p.Client) + ", server " + numbers(p.Server)
}

// Setting is a key of workloads to which an arm gives another value.
type Setting struct {
	Key string `json:"key"`
	// Value is the text of Workload.Value.
	Value string `json:"value"`
	// Workloads are the names of the workloads that it changes, in the order of the file. It is never empty.
	Workloads []string `json:"workloads"`
}

// String writes the setting as in reports: "wait spin in rr".
func (s Setting) String() string {
	return s.Key + " " + s.Value + " in " + strings.Join(s.Workloads, ", ")
}
