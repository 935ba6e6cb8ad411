package file

import (
	"fmt"
	"slices"

	"nearfar/internal/declare/experiment"
)

// twins puts the workloads of the file into the experiment. A workload with inside is followed by its watched twin, and
// one with capture by its captured one: the same once more, in every arm. Figures come from the plain one, because
// looking costs time (docs/inside.md, docs/captures.md).
func (r *reader) twins(e *experiment.Experiment, workloads []parsedWorkload, top fields) {
	names := map[string]bool{}
	for _, w := range workloads {
		names[w.Name] = true
	}
	for _, w := range workloads {
		e.Workloads = append(e.Workloads, w.Plain())
		for _, t := range experiment.Twins() {
			if t.Asked(w.Workload) {
				r.twinName(w, t, names)
				e.Workloads = append(e.Workloads, t.Make(w.Workload))
			}
		}
		for _, t := range slices.Backward(experiment.Twins()) { // each is put directly behind the workload
			for i := range e.Arms {
				if t.Asked(w.Workload) {
					e.Arms[i].AddTwin(w.Name, t)
				}
			}
		}
	}
	if v, ok := top.named["workloads"]; ok {
		r.most(v.key, "workloads, with those that are watched,", len(e.Workloads), experiment.MaxWorkloads)
	}
}

// twinName checks the name of a workload's twin.
func (r *reader) twinName(w parsedWorkload, t experiment.Twin, names map[string]bool) {
	name := t.Make(w.Workload).Name
	switch at := w.fields.named[t.Key].key; {
	case names[name]:
		r.wrong(at, "give one of the two another name",
			"workload %s measures %s once more, %s, and there is a workload of this name", quote(w.Name), quote(name),
			t.Word)
	case len(name) > experiment.MaxName && experiment.IsName(w.Name):
		r.wrong(at, fmt.Sprintf("give the workload a name of at most %d letters", t.LongestName()),
			"the name of the %s workload, %s, is too long", t.Word, quote(name))
	}
}
