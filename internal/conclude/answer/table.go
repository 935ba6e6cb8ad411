package answer

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// cells are the good trials of one workload that have one quantity, by arm.
type cells struct {
	workload string
	quantity Quantity
	byArm    map[string][]result.Trial
	// good are all good trials by arm, including those that lack the quantity and those that replace failed ones.
	// attempts are the first attempts, also those that failed; ranking says how they count in comparisons.
	good, attempts map[string][]result.Trial
	ranking        Ranking
	// known has what valuesOf computed, by arm.
	known map[string]rankedValues
	// primary says that this is the workload's first quantity, for which layers are estimated.
	primary bool
	// reportOnly says that the quantity is reported but not compared.
	reportOnly bool
}

// value is the trial's value of the quantity.
func (c cells) value(t result.Trial) float64 {
	v, _ := c.quantity.Of(t)
	return v
}

// values gives an arm's values, one for each block, in the order of the blocks.
func (c cells) values(arm string) []stats.Value {
	var values []stats.Value
	trials := c.byArm[arm]
	for i := range trials {
		v, _ := c.quantity.of(&trials[i])
		values = append(values, stats.Value{Block: trials[i].Block, Value: v})
	}
	return stats.PerBlock(values)
}

// rankedValues are what ranked and lack give for an arm.
type rankedValues struct {
	values []stats.Value
	lack   Lack
}

// valuesOf computes the ranked values of an arm, once.
func (c cells) valuesOf(arm string) rankedValues {
	known, ok := c.known[arm]
	if !ok {
		values, missing, failed := c.ranking.each(c.attempts[arm])
		known = rankedValues{stats.PerBlock(values), Lack{arm, missing, failed, len(c.attempts[arm])}}
		if c.known != nil {
			c.known[arm] = known
		}
	}
	return known
}

// ranked gives the values for comparisons of an arm, including attempts that failed or lack the quantity.
func (c cells) ranked(arm string) []stats.Value { return slices.Clone(c.valuesOf(arm).values) }

// tried are the trials of an arm.
func (c cells) tried(arm string) Tried { return Tried{c.attempts[arm], c.good[arm]} }

// lack is how many attempts of an arm have no value.
func (c cells) lack(arm string) Lack { return c.valuesOf(arm).lack }

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
func workloadCells(e *experiment.Experiment, trials []result.Trial, workload string) []cells {
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
	var all []cells
	add := func(q Quantity, c cells) {
		c.workload, c.quantity, c.byArm = workload, q, map[string][]result.Trial{}
		c.good, c.attempts, c.ranking, c.known = byArm, attempts, NewRanking(q, good), map[string]rankedValues{}
		for arm, trials := range byArm {
			if with := having(q, trials); len(with) > 0 {
				c.byArm[arm] = with
			}
		}
		all = append(all, c)
	}
	for i, q := range quantities(e, good) {
		add(q, cells{primary: i == 0})
	}
	for _, q := range Beside(good) {
		add(q, cells{reportOnly: true})
	}
	return all
}

// tablesOf groups the trials of all workloads that are compared.
func tablesOf(in Input) []cells {
	compared := proof.Compared(in.Experiment, in.Trials)
	var tables []cells
	for _, w := range in.Experiment.Workloads {
		tables = append(tables, workloadCells(in.Experiment, compared, w.Name)...)
	}
	return tables
}

// singleTrials are the trials of all arms. Of the baseline there can be several in a block.
func (c cells) singleTrials(e *experiment.Experiment) (trials []stats.Trial) {
	for _, arm := range e.Arms {
		for _, t := range c.byArm[arm.Name] {
			trials = append(trials, stats.Trial{Arm: arm.Name, Block: t.Block, Value: c.value(t)})
		}
	}
	return trials
}

// trialsOfDeployments gives the values of all arms for each deployment with enough blocks.
func (c cells) trialsOfDeployments(e *experiment.Experiment) [][]stats.Trial {
	var all [][]stats.Trial
	var every []result.Trial
	for _, trials := range c.byArm {
		every = append(every, trials...)
	}
	for _, n := range deploymentsOf(every) {
		var on []stats.Trial
		blocks := map[int]bool{}
		for _, arm := range e.Arms {
			for _, t := range onDeployment(c.byArm[arm.Name], n) {
				on = append(on, stats.Trial{Arm: arm.Name, Block: t.Block, Value: c.value(t)})
				blocks[t.Block] = true
			}
		}
		if len(blocks) >= stats.FewestDeployedBlocks {
			all = append(all, on)
		}
	}
	return all
}
