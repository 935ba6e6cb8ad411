package page

import (
	"encoding/json"
	"slices"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// The kinds of Data that compare two sides.
const (
	Compare = "compare"
	Gate    = "gate"
)

// Sides makes the page's data from an answer that compares two sides. If gate holds the JSON document of a gate's
// result, the data are for the page of that gate. There are no trials, curves or records; the reports of the runs have
// them.
func Sides(a answer.Answer, gate json.RawMessage) (Data, error) {
	a, err := clipped(a)
	if err != nil {
		return Data{}, err
	}
	d := Data{
		Nearfar: "v1", Page: pageVersion, Kind: Compare, Answer: a, Gate: gate, Versions: map[string]string{},
		Arms: []Arm{}, Workloads: []Workload{}, Loads: []Load{}, Commands: []Commands{}, Records: []Records{},
		Notes: []string{},
		Hosts: Hosts{Run: []Fact{}, Arms: []ArmFact{}, Trials: []ArmFact{}, Varying: []string{}},
	}
	if gate != nil {
		d.Kind = Gate // its headline is the gate's own
	} else {
		d.Lead = leadOf(a)
	}
	if len(a.Sources) == 2 {
		base, other := a.Sources[0].Source, a.Sources[1].Source
		if d.Name = other; base != other {
			d.Name = clip(other + " against " + base)
		}
	}
	for _, c := range a.Comparisons {
		d.name(c.Arm, c.Workload)
	}
	for _, f := range a.Arms {
		d.name(f.Arm, f.Workload)
	}
	d.Quantities = quantitiesOf(a, func(workload string) (int, bool) {
		i := slices.IndexFunc(d.Workloads, func(w Workload) bool { return w.Name == workload })
		return i, i >= 0
	})
	for _, part := range []*Packed{&d.Trials, &d.Curves, &d.Courses} {
		if *part, err = pack([]int{}); err != nil {
			return Data{}, err
		}
	}
	return d, nil
}

// name adds an arm and a workload, unless the data have them already.
func (d *Data) name(arm, workload string) {
	if !slices.ContainsFunc(d.Arms, func(a Arm) bool { return a.Name == arm }) {
		d.Arms = append(d.Arms, Arm{Name: arm, Elements: []Element{}})
	}
	if !slices.ContainsFunc(d.Workloads, func(w Workload) bool { return w.Name == workload }) {
		d.Workloads = append(d.Workloads, Workload{Name: workload})
	}
}

// quantitiesOf lists the quantities for which an answer has figures, in the answer's order. index gives the index of a
// workload.
func quantitiesOf(a answer.Answer, index func(workload string) (int, bool)) []Quantity {
	all := []Quantity{}
	for _, f := range a.Arms {
		w, known := index(f.Workload)
		same := func(q Quantity) bool { return q.Workload == w && q.Quantity == f.Quantity }
		if !known || slices.ContainsFunc(all, same) {
			continue
		}
		q := Quantity{Workload: w, Quantity: f.Quantity}
		switch f.Direction() {
		case result.LowerIsBetter:
			q.Better = "lower"
		case result.HigherIsBetter:
			q.Better = "higher"
		}
		q.Compared = slices.ContainsFunc(a.Comparisons, func(k figures.Comparison) bool {
			return k.Workload == f.Workload && k.Quantity == f.Quantity
		})
		all = append(all, q)
	}
	return all
}
