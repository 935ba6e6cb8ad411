package file

import (
	"cmp"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// parsedWorkload is a workload and its keys in the file.
type parsedWorkload struct {
	experiment.Workload
	fields fields
	// wrong says that the workload itself has mistakes.
	wrong bool
}

// parsedSet is the key set of an arm, as nodes of the file.
type parsedSet struct {
	// general holds the keys for every workload that takes them, and own the keys of single workloads, by their name.
	general map[string]field
	own     map[string]map[string]field
}

// sets reads what each arm sets, and derives its workloads.
func (r *reader) sets(arms []parsedArm, workloads []parsedWorkload, common *experiment.Placement) {
	wrong := slices.ContainsFunc(workloads, func(w parsedWorkload) bool { return w.wrong })
	for i := range arms {
		a := &arms[i]
		if a.set.value != nil {
			if set, ok := r.parsedSet(*a, workloads); ok && !wrong {
				r.apply(a, set, workloads, common)
			}
		}
		for _, w := range workloads {
			r.unanswered(w.Workload, w.fields, a.Arm)
			if !slices.ContainsFunc(a.Workloads, func(own experiment.Workload) bool { return own.Name == w.Name }) {
				r.carried(w.Workload, w.fields, []experiment.Arm{a.Arm})
				r.oneCPU(w.Workload, w.fields, a.Arm)
			}
		}
	}
	samePlacement(arms, workloads, common)
}

// parsedSet sorts the keys of a set. The second result is false if some are wrong; they are then reported.
func (r *reader) parsedSet(a parsedArm, workloads []parsedWorkload) (parsedSet, bool) {
	set := parsedSet{general: map[string]field{}, own: map[string]map[string]field{}}
	before := r.count()
	what := "set of arm " + quote(a.Name)
	var names []string
	for _, w := range workloads {
		if w.Name != "" {
			names = append(names, w.Name)
		}
	}
	keys := append(experiment.SettableKeys(), experiment.FixedKeys()...)
	f, ok := r.fields(a.set.value, a.set.key, what, slices.Concat(keys, names))
	if !ok {
		return set, false
	}
	if len(a.set.value.Content) == 0 {
		r.wrong(a.set.value, "write, for example, set: {congestion: bbr}, or leave it out", "%s is empty", what)
	}
	for key := range f.named {
		v, ok := r.optional(f, key)
		isKey := slices.Contains(experiment.WorkloadKeys(), key)
		switch named := slices.Contains(names, key); {
		case !ok:
		case named && isKey:
			r.wrong(v.key, "give the workload another name", "%s: %s is a key of workloads and the name of one", what,
				quote(key))
		case named:
			inner, ok := r.fields(v.value, v.key, what+" for workload "+quote(key), keys)
			if ok && len(v.value.Content) == 0 {
				r.wrong(v.value, "write, for example, "+key+": {wait: spin}, or leave it out", "%s is empty",
					inner.what)
			}
			for name := range inner.named {
				_, ok := r.optional(inner, name)
				if ok && r.settable(inner, name) && set.own[key] == nil {
					set.own[key] = map[string]field{}
				}
				if ok && set.own[key] != nil {
					set.own[key][name] = inner.named[name]
				}
			}
		default:
			if r.settable(f, key) {
				set.general[key] = v
			}
		}
	}
	return set, r.count() == before
}

// settable reports keys that an arm cannot set.
func (r *reader) settable(f fields, key string) bool {
	why := experiment.WhyFixed(key)
	if why != "" {
		r.wrong(f.named[key].key, why, "%s cannot change %s", f.what, key)
	}
	return why == ""
}

// apply derives the workloads of an arm. Each is read again with the values that the arm sets, and so checked like any
// other.
func (r *reader) apply(a *parsedArm, set parsedSet, workloads []parsedWorkload, common *experiment.Placement) {
	used := map[string]bool{}
	var settings []experiment.Setting
	where := map[string]field{} // by key and value, for their order
	for _, w := range workloads {
		taken := set.takenBy(w, r.tools)
		for key := range taken {
			if taken[key] == set.general[key] {
				used[key] = true
			}
		}
		if len(taken) == 0 {
			continue
		}
		effective, ok := r.overridden(a, w, taken, common)
		if !ok {
			continue
		}
		a.Workloads = append(a.Workloads, effective)
		for _, key := range sortedByPlace(taken) {
			value := effective.Value(key)
			at := slices.IndexFunc(settings, func(s experiment.Setting) bool { return s.Key == key && s.Value == value })
			if at < 0 {
				at = len(settings)
				settings = append(settings, experiment.Setting{Key: key, Value: value})
				where[key+"\x00"+value] = taken[key]
			}
			settings[at].Workloads = append(settings[at].Workloads, w.Name)
		}
	}
	for _, key := range sortedByPlace(set.general) {
		if !used[key] {
			r.wrong(set.general[key].key, "it is for "+r.tools.WhoTakes(key),
				"no workload takes the %s that arm %s sets", key, quote(a.Name))
		}
	}
	slices.SortStableFunc(settings, func(x, y experiment.Setting) int {
		return byPlace(where[x.Key+"\x00"+x.Value], where[y.Key+"\x00"+y.Value])
	})
	a.Set = settings
}

// takenBy gives the keys of a set that change a workload: all keys below its name, and the general keys that it takes.
// Which keys it takes depends on the protocol, and that can be set as well.
func (s parsedSet) takenBy(w parsedWorkload, tools experiment.Tools) map[string]field {
	taken := maps.Clone(s.own[w.Name])
	if taken == nil {
		taken = map[string]field{}
	}
	can, _ := tools.Find(w.Tool, w.Mode, w.Protocol)
	if v, ok := s.general["protocol"]; ok && can.Accepts("protocol") && taken["protocol"].key == nil {
		taken["protocol"] = v
	}
	if v, ok := taken["protocol"]; ok {
		if other, ok := tools.Find(w.Tool, w.Mode, v.value.Value); ok {
			can = other
		}
	}
	for key, v := range s.general {
		if _, own := taken[key]; !own && can.Accepts(key) {
			taken[key] = v
		}
	}
	return taken
}

// overridden reads a workload again with the values that an arm sets. A mistake at another value is reported at the
// first of them, since the workload had no mistake without them.
func (r *reader) overridden(
	a *parsedArm, w parsedWorkload, taken map[string]field, common *experiment.Placement,
) (experiment.Workload, bool) {
	merged := w.fields
	merged.named = maps.Clone(w.fields.named)
	maps.Copy(merged.named, taken)
	own := map[*yaml.Node]bool{}
	for _, v := range taken {
		mark(v.key, own)
		mark(v.value, own)
	}
	again := *r
	again.mistakes, again.faulty, merged.reader = nil, map[*yaml.Node]bool{}, &again
	again.moved = &moved{
		own: own, to: taken[sortedByPlace(taken)[0]].key, what: "arm " + quote(a.Name) + ", workload " + quote(w.Name),
	}
	effective := again.workload(merged, common)
	again.carried(effective, merged, []experiment.Arm{a.Arm})
	again.oneCPU(effective, merged, a.Arm)
	for _, m := range again.mistakes {
		if !slices.Contains(r.mistakes, m) { // not already reported for another workload
			r.mistakes = append(r.mistakes, m)
		}
	}
	return effective, again.count() == r.suppressed
}

// mark adds a node and all nodes below it to a set.
func mark(n *yaml.Node, into map[*yaml.Node]bool) {
	into[n] = true
	for _, child := range n.Content {
		mark(child, into)
	}
}

// moved says where mistakes are reported if a workload was put together from two places of the file.
type moved struct {
	// own are the nodes of the arm. Mistakes at other nodes are reported at the node to, and their message begins with
	// what.
	own  map[*yaml.Node]bool
	to   *yaml.Node
	what string
}

func byPlace(a, b field) int {
	return cmp.Or(cmp.Compare(a.key.Line, b.key.Line), cmp.Compare(a.key.Column, b.key.Column))
}

// sortedByPlace lists keys in the order of the file.
func sortedByPlace(all map[string]field) []string {
	keys := slices.Collect(maps.Keys(all))
	slices.SortFunc(keys, func(a, b string) int { return byPlace(all[a], all[b]) })
	return keys
}

// samePlacement gives a workload the same placement in all arms, if the file says none. The default depends on how the
// workload waits, so an arm that sets wait: spin would otherwise also be the only one with two CPUs.
func samePlacement(arms []parsedArm, workloads []parsedWorkload, common *experiment.Placement) {
	if common != nil {
		return
	}
	for i := range workloads {
		w := &workloads[i]
		if w.fields.named["placement"].key != nil {
			continue
		}
		free := []*experiment.Workload{&w.Workload}
		split := w.Placement.Kind == experiment.PlacementSplit
		for j := range arms {
			at := slices.IndexFunc(arms[j].Workloads, func(o experiment.Workload) bool { return o.Name == w.Name })
			if at < 0 || slices.ContainsFunc(arms[j].Set, func(s experiment.Setting) bool {
				return s.Key == "placement" && slices.Contains(s.Workloads, w.Name)
			}) {
				continue
			}
			free = append(free, &arms[j].Workloads[at])
			split = split || arms[j].Workloads[at].Placement.Kind == experiment.PlacementSplit
		}
		if !split {
			continue
		}
		for _, o := range free {
			o.Placement = experiment.Placement{Kind: experiment.PlacementSplit}
		}
	}
}
