package figures

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Cells are the good trials of one workload that have one quantity, by arm.
type Cells struct {
	Workload string
	Quantity Quantity
	ByArm    map[string][]result.Trial
	// Good are all good trials by arm, including those that lack the quantity and those that replace failed ones.
	// Attempts are the first attempts, also those that failed; Ranking says how they count in comparisons.
	Good, Attempts map[string][]result.Trial
	Ranking        Ranking
	// known has what valuesOf computed, by arm.
	known map[string]rankedValues
	// Primary says that this is the workload's first quantity, for which layers are estimated.
	Primary bool
	// ReportOnly says that the quantity is reported but not compared.
	ReportOnly bool
}

// Value is the trial's value of the quantity.
func (c Cells) Value(t result.Trial) float64 {
	v, _ := c.Quantity.Of(t)
	return v
}

// Values gives an arm's values, one for each block, in the order of the blocks.
func (c Cells) Values(arm string) []stats.Value {
	var values []stats.Value
	trials := c.ByArm[arm]
	for i := range trials {
		v, _ := c.Quantity.of(&trials[i])
		values = append(values, stats.Value{Block: trials[i].Block, Value: v})
	}
	return stats.PerBlock(values)
}

// rankedValues are what Ranked and lack give for an arm.
type rankedValues struct {
	values []stats.Value
	lack   Lack
}

// valuesOf computes the ranked values of an arm, once.
func (c Cells) valuesOf(arm string) rankedValues {
	known, ok := c.known[arm]
	if !ok {
		values, missing, failed := c.Ranking.each(c.Attempts[arm])
		known = rankedValues{stats.PerBlock(values), Lack{arm, missing, failed, len(c.Attempts[arm])}}
		if c.known != nil {
			c.known[arm] = known
		}
	}
	return known
}

// Ranked gives the values for comparisons of an arm, including attempts that failed or lack the quantity.
func (c Cells) Ranked(arm string) []stats.Value { return slices.Clone(c.valuesOf(arm).values) }

// Tried are the trials of an arm.
func (c Cells) Tried(arm string) Tried { return Tried{c.Attempts[arm], c.Good[arm]} }

// lack is how many attempts of an arm have no value.
func (c Cells) lack(arm string) Lack { return c.valuesOf(arm).lack }

// having gives the trials that have a quantity, without a copy if all do.
func having(q Quantity, trials []result.Trial) []result.Trial {
	for i := range trials {
		if _, ok := q.of(&trials[i]); !ok {
			return slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool {
				_, ok := q.Of(t)
				return !ok
			})
		}
	}
	return trials
}

// workloadCells groups a workload's trials by quantity and arm.
func workloadCells(e *experiment.Experiment, trials []result.Trial, workload string) []Cells {
	attempts := attemptsByArm(trials, workload)
	n := 0
	for i := range trials {
		if trials[i].Workload == workload && trials[i].Error == "" {
			n++
		}
	}
	good := make([]result.Trial, 0, n)
	of := map[string]int{}
	for i := range trials {
		if t := &trials[i]; t.Workload == workload && t.Error == "" {
			good = append(good, *t)
			of[t.Arm]++
		}
	}
	if !slices.IsSortedFunc(good, inOrder) { // sorting moves large records
		slices.SortStableFunc(good, inOrder)
	}
	byArm := map[string][]result.Trial{}
	for i := range good {
		arm := good[i].Arm
		if byArm[arm] == nil {
			byArm[arm] = make([]result.Trial, 0, of[arm])
		}
		byArm[arm] = append(byArm[arm], good[i])
	}
	for arm, tried := range attempts {
		if slices.EqualFunc(tried, byArm[arm], func(a, b result.Trial) bool { return a.Trial == b.Trial }) {
			attempts[arm] = byArm[arm] // most arms have no failed attempt: one copy of their trials will do
		}
	}
	var all []Cells
	add := func(q Quantity, c Cells) {
		c.Workload, c.Quantity, c.ByArm = workload, q, map[string][]result.Trial{}
		c.Good, c.Attempts, c.Ranking, c.known = byArm, attempts, NewRanking(q, good), map[string]rankedValues{}
		for arm, trials := range byArm {
			if with := having(q, trials); len(with) > 0 {
				c.ByArm[arm] = with
			}
		}
		all = append(all, c)
	}
	for i, q := range quantities(e, good) {
		add(q, Cells{Primary: i == 0})
	}
	for _, q := range Beside(good) {
		add(q, Cells{ReportOnly: true})
	}
	return all
}

// Tables groups the trials of all workloads that are compared.
func Tables(in Run) []Cells {
	compared := proof.Compared(in.Experiment, in.Trials)
	var tables []Cells
	for _, w := range in.Experiment.Workloads {
		tables = append(tables, workloadCells(in.Experiment, compared, w.Name)...)
	}
	return tables
}

// SingleTrials are the trials of all arms. Of the baseline there can be several in a block.
func (c Cells) SingleTrials(e *experiment.Experiment) (trials []stats.Trial) {
	for _, arm := range e.Arms {
		for _, t := range c.ByArm[arm.Name] {
			trials = append(trials, stats.Trial{Arm: arm.Name, Block: t.Block, Value: c.Value(t)})
		}
	}
	return trials
}

// trialsOfDeployments gives the values of all arms for each deployment with enough blocks.
func (c Cells) trialsOfDeployments(e *experiment.Experiment) [][]stats.Trial {
	var all [][]stats.Trial
	var every []result.Trial
	for _, trials := range c.ByArm {
		every = append(every, trials...)
	}
	for _, n := range deploymentsOf(every) {
		var on []stats.Trial
		blocks := map[int]bool{}
		for _, arm := range e.Arms {
			for _, t := range onDeployment(c.ByArm[arm.Name], n) {
				on = append(on, stats.Trial{Arm: arm.Name, Block: t.Block, Value: c.Value(t)})
				blocks[t.Block] = true
			}
		}
		if len(blocks) >= stats.FewestDeployedBlocks {
			all = append(all, on)
		}
	}
	return all
}
