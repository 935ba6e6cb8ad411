package answer

import (
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Make answers the experiment's question from the existing trials; some may have failed or be missing.
func Make(in Input) Answer {
	in.groups = groupsOf(in.Trials)
	run, tables := in.measured(), tablesOf(in)
	made, warnings := makeFigures(in, tables)
	a := Answer{
		Nearfar: "v1", Question: in.Experiment.Question, Ran: ranOf(in), Figures: made,
		Environment: environment.Of(run), Proofs: proof.All(in.Experiment, in.Trials), Hosts: environment.Seen(run),
		Noise: Noise{Earlier: in.Earlier},
	}
	a.markUnproved(in.Experiment, a.Proof, tables)
	a.Dependence = dependTogether(in, tables)
	a.Warnings = slices.Concat([]Warning{}, // never null in JSON
		runWarnings(in, a, tables), dependent(a.Dependence, a.Comparisons), warnings, in.Warnings, unlike(in, tables))
	if in.Experiment.SelfComparison != nil {
		a.NoiseFloor = noiseFloor(in, a.Comparisons, tables)
		a.Warnings = append(a.Warnings, a.NoiseFloor.warnings(in, a.Comparisons)...)
	}
	a.SetProtocols(protocolsOf(in.Trials))
	a.Conclude(nil, func(a Answer) Statement {
		headlineIntervals(in, a.Findings, tables)
		statement := verdict(in.Experiment, a)
		statement.Basis = joined(statement.Basis, strings.TrimSpace(assumesText(a)), strings.TrimSpace(in.looksText(a)))
		return statement
	})
	return a
}

// ranOf says what was planned, and what ran of it.
func ranOf(in Input) Ran {
	e := in.Experiment
	ran := Ran{
		Run: in.Run, State: in.State, Baseline: e.Baseline, AskedAbout: e.AskedAbout, Imported: e.Imported,
		Paired: e.Paired, Blocks: in.blocksRun(), Trials: len(in.Trials), AnyTime: in.anyTime(),
		Deployments: e.Schedule.Deployments, Failing: failing(e, in.Trials), Settings: settingsOf(e),
		Workloads: measuredOf(in),
	}
	replaced := replacedPlaces(in.Trials)
	for _, t := range in.Trials {
		if t.Error != "" {
			ran.Failed++
			if replaced[scheduledOf(t)] {
				ran.Replaced++
			}
		}
	}
	return ran
}

// makeFigures makes the figures, differences and costs of layers, and warnings about the layers.
func makeFigures(in Input, tables []cells) (Figures, []Warning) {
	f := Figures{
		Averages: AveragesOf(!in.Experiment.Unpaired()), Arms: []Figure{}, Comparisons: comparisons(in, tables),
		Failures: failuresOf(in), Layers: []Layer{}, Residual: []Residual{},
	}
	if deployed(in.Experiment) {
		f.Averages.overDeployments()
	}
	var warnings []Warning
	var estimates []stats.Cost
	var arms [][]alone
	for _, c := range tables {
		f.Arms = append(f.Arms, figures(in.Experiment, c)...)
		part := attribute(in.Experiment, c, f.Comparisons)
		f.Layers, estimates = append(f.Layers, part.layers...), append(estimates, part.estimates...)
		arms = append(arms, part.alone...)
		f.Residual = append(f.Residual, part.residual...)
		f.Additivity = append(f.Additivity, part.additivity...)
		warnings = append(warnings, part.warnings...)
	}
	judgeLayers(f.Layers, estimates)
	warnings = append(warnings, f.against(arms)...)
	if in.anyTime() {
		warnings = f.holdAtAnyTime(in, warnings)
	}
	return f, warnings
}

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

// Quantities lists the numbers of a workload's trials that are reported and compared, the most informative first.
// They are few, because each further one makes every difference harder to prove.
//
// netperf has the mean, from its transaction rate: its percentiles are whole microseconds and would hide the cost of
// a layer. A load has its response time, which includes the time that a request waited to be sent. One-way messages
// have the rate at which they arrive. A stream has its goodput. Over UDP, a load and a stream also have their loss, and
// other round trips if anything was lost.
func Quantities(trials []result.Trial) []Quantity {
	if len(trials) == 0 {
		return nil
	}
	times := func(metric string, stats ...string) (all []Quantity) {
		for _, stat := range stats {
			all = append(all, Quantity{Metric: metric, Stat: stat, Unit: result.Seconds})
		}
		return Present(trials, all)
	}
	var all, lost []Quantity
	switch {
	case trials[0].Mode == experiment.Messages:
		return Present(trials, []Quantity{rate(result.MessageRate)})
	case trials[0].Definition == result.DefinitionResponseTime:
		if all = times(result.ResponseTime, result.P50, result.P99); len(all) == 0 {
			all = times(result.ResponseTime, result.Mean)
		}
		lost = Present(trials, []Quantity{{Metric: result.Loss, Unit: result.One}})
	case trials[0].Tool.Name != "netperf":
		all = times(result.RTT, result.P50, result.P99)
	}
	if len(all) == 0 {
		all = times(result.RTT, result.Mean)
	}
	if len(all) > 0 && !smoothed(trials) {
		if loss := (Quantity{Metric: result.Loss, Unit: result.One}); len(lost) == 0 && loss.any(trials) {
			lost = Present(trials, []Quantity{loss})
		}
		return append(all, lost...)
	}
	return Present(trials, []Quantity{
		{Metric: result.Goodput, Unit: result.BitsPerSecond},
		{Metric: result.Loss, Unit: result.One},
		rate(result.TransactionRate),
		rate(result.MessageRate),
	})

}

// Beside lists further numbers that are reported but not compared, because the others cannot be judged without them.
// A load has the achieved rate, messages over UDP have their loss, and a background has its goodput.
func Beside(trials []result.Trial) []Quantity {
	if len(trials) == 0 {
		return nil
	}
	var all []Quantity
	switch {
	case trials[0].Definition == result.DefinitionResponseTime:
		all = append(all, rate(result.TransactionRate))
	case trials[0].Mode == experiment.Messages:
		all = append(all, Quantity{Metric: result.Loss, Unit: result.One})
	}
	for _, scope := range []string{result.Background, result.Background + " " + experiment.Upload, result.Background +
		" " + experiment.Download} {
		all = append(all, Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond, Scope: scope})
	}
	return Present(trials, all)
}

// any says whether the quantity is above 0 in any of the trials.
func (q Quantity) any(trials []result.Trial) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool {
		v, ok := q.Of(t)
		return ok && v > 0
	})
}

func rate(metric string) Quantity { return Quantity{Metric: metric, Unit: result.PerSecond} }

// smoothed says whether the round-trip times are the kernel's smoothed ones. A stream produces them as a by-product
// and does not measure them.
func smoothed(trials []result.Trial) bool {
	return slices.ContainsFunc(trials, func(t result.Trial) bool {
		// A stream over UDP has no smoothed times, and can be the first trial.
		return t.Definition == result.DefinitionSmoothedRTT &&
			(t.Mode == experiment.Stream || trials[0].Definition == t.Definition)
	})
}

// Present keeps the quantities that at least half of the trials of some arm have. If no arm has it, the trials are
// too short for it. If one has it, trials of another arm that lack it count as the worst (Ranking).
func Present(trials []result.Trial, candidates []Quantity) []Quantity {
	of := map[string]int{}
	for i := range trials {
		of[trials[i].Arm]++
	}
	return slices.DeleteFunc(candidates, func(q Quantity) bool {
		with := map[string]int{}
		for i := range trials {
			if _, ok := q.of(&trials[i]); ok {
				with[trials[i].Arm]++
			}
		}
		for arm, n := range with {
			if 2*n >= of[arm] {
				return false
			}
		}
		return true
	})
}

// figures gives the median of each arm, in the order of the file.
func figures(e *experiment.Experiment, c cells) []Figure {
	var all []Figure
	for _, arm := range e.Arms {
		if f, ok := FigureOf(deployed(e), arm.Name, c.workload, c.ranking, c.attempts[arm.Name]); ok {
			all = append(all, f)
		}
	}
	return all
}

// PointerOf converts a quantity; an unknown one becomes null.
func PointerOf(q stats.Quantity) *float64 {
	if !q.Known {
		return nil
	}
	return new(q.Value)
}

// list joins names with commas.
func list(names []string) string { return strings.Join(names, ", ") }
