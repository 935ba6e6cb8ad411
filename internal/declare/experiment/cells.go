package experiment

import "iter"

// Cell is a workload as an arm runs it.
type Cell struct {
	// Arm is the arm's name.
	Arm string
	// Workload has the values that the arm sets; see Experiment.WorkloadIn.
	Workload Workload
	// Set has the values that the arm sets in the workload, by key; nil for none. It must not be changed.
	Set map[string]string
}

// Cells are the workloads of an experiment as its arms run them. They are computed once, for what asks for them in each
// trial. They stay valid when the experiment gets other hosts.
type Cells struct {
	all []Cell
	at  map[cellName]int
}

type cellName struct{ arm, workload string }

// Cells computes the workloads of all arms.
func (e *Experiment) Cells() Cells {
	c := Cells{at: make(map[cellName]int, len(e.Arms)*len(e.Workloads))}
	for _, arm := range e.Arms {
		for _, plain := range e.Workloads {
			w, _ := e.WorkloadIn(arm.Name, plain.Name)
			c.at[cellName{arm.Name, w.Name}] = len(c.all)
			c.all = append(c.all, Cell{Arm: arm.Name, Workload: w, Set: e.SetIn(arm.Name, w.Name)})
		}
	}
	return c
}

// Of gives an arm's cell of a workload; an empty one if the experiment does not have both.
func (c Cells) Of(arm, workload string) Cell {
	if i, ok := c.at[cellName{arm, workload}]; ok {
		return c.all[i]
	}
	return Cell{}
}

// In gives a slot's cell.
func (c Cells) In(s Slot) Cell { return c.Of(s.Arm, s.Workload) }

// All gives the cells by arms, in the order of the file.
func (c Cells) All() iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		for _, one := range c.all {
			if !yield(one) {
				return
			}
		}
	}
}
