package file

import (
	"fmt"

	"nearfar/internal/declare/experiment"
)

// twins puts the workloads of the file into the experiment. A workload with inside is followed by its watched twin: the
// same once more, in every arm. Figures come from the plain one, because watching costs time (docs/inside.md).
func (r *reader) twins(e *experiment.Experiment, workloads []parsedWorkload, top fields) {
	names := map[string]bool{}
	for _, w := range workloads {
		names[w.Name] = true
	}
	for _, w := range workloads {
		plain := w.Workload
		plain.Inside = false
		e.Workloads = append(e.Workloads, plain)
		if !w.Inside {
			continue
		}
		twin := plain.Watched()
		switch at := w.fields.named["inside"].key; {
		case names[twin.Name]:
			r.wrong(at, "give one of the two another name",
				"workload %s measures %s once more, watched, and there is a workload of this name", quote(w.Name),
				quote(twin.Name))
		case len(twin.Name) > experiment.MaxName && experiment.IsName(w.Name):
			r.wrong(at, fmt.Sprintf("give the workload a name of at most %d letters",
				experiment.MaxName-len(experiment.InsideSuffix)),
				"the name of the watched workload, %s, is too long", quote(twin.Name))
		}
		e.Workloads = append(e.Workloads, twin)
		for i := range e.Arms {
			e.Arms[i].AddTwin(plain.Name, twin.Name)
		}
	}
	if v, ok := top.named["workloads"]; ok {
		r.most(v.key, "workloads, with those that are watched,", len(e.Workloads), experiment.MaxWorkloads)
	}
}
