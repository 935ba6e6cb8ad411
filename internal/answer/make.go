package answer

import (
	"slices"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// Make answers the experiment's question from the existing trials; some may have failed or be missing.
func Make(in Input) Answer {
	a := Answer{
		Nearfar: "v1", Question: in.Experiment.Question, Run: in.Run, State: in.State, Baseline: in.Experiment.Baseline,
		Imported: in.Experiment.Imported, Paired: in.Experiment.Paired,
		Blocks: in.blocksRun(), Trials: len(in.Trials), AnyTime: in.anyTime(),
		Deployments: in.Experiment.Schedule.Deployments,
		Arms:        []Figure{}, Comparisons: []Comparison{}, Layers: []Layer{}, Residual: []Residual{},
		Warnings: []Warning{},
	}
	a.Differs = hostsDiffering(in)
	a.Averages = AveragesOf(!in.Experiment.Unpaired())
	if deployed(in.Experiment) {
		a.Averages.overDeployments()
	}
	replaced := replacedPlaces(in.Trials)
	for _, t := range in.Trials {
		if t.Error != "" {
			a.Failed++
			if replaced[scheduledOf(t)] {
				a.Replaced++
			}
		}
	}
	for _, arm := range in.Experiment.Arms {
		if text := in.Experiment.SettingsText(arm.Name); text != "" {
			a.Settings = append(a.Settings, Settings{Arm: arm.Name, Text: text, Set: arm.Set})
		}
	}
	a.Proof, a.Places, a.ProviderAnswers = proofs(in), places(in), providerAnswers(in)
	a.Unproved = unprovedText(a.Proof)
	tables := tablesOf(in)
	for _, c := range tables {
		a.Arms = append(a.Arms, figures(in.Experiment, c)...)
	}
	a.Comparisons = comparisons(in, tables)
	var estimates []stats.Cost
	for _, c := range tables {
		part := attribute(in.Experiment, c, a.Comparisons)
		a.Layers, estimates = append(a.Layers, part.layers...), append(estimates, part.estimates...)
		a.Residual = append(a.Residual, part.residual...)
		a.Additivity = append(a.Additivity, part.additivity...)
		a.Warnings = append(a.Warnings, part.warnings...)
	}
	judgeLayers(a.Layers, estimates)
	if a.AnyTime {
		a.holdAtAnyTime(in)
	}
	markUnproved(in.Experiment, &a, tables)
	a.Dependence = dependTogether(in, tables)
	a.Warnings = append(dependent(a.Dependence, a.Comparisons), a.Warnings...)
	a.Warnings = append(append([]Warning{}, runWarnings(in, a, tables)...), a.Warnings...) // never null in JSON
	a.Warnings = append(a.Warnings, in.Warnings...)
	a.Earlier = in.Earlier
	a.Warnings = append(a.Warnings, unlike(in, tables)...)
	if in.Experiment.SelfComparison != nil {
		a.NoiseFloor = noiseFloor(in, a, tables)
		a.Warnings = append(a.Warnings, selfWarnings(in, a)...)
	}
	a.Environment = environment(in)
	a.Findings = Rank(a)
	headlineIntervals(in, a.Findings, tables)
	a.Verdict = verdict(in.Experiment, a)
	if text := a.NoiseFloor.verdict(); text != "" {
		a.Verdict = text + AboutText(a.Comparisons)
	}
	a.Verdict += assumesText(a) + in.looksText(a)
	if a.Unproved != "" {
		a.Verdict += " " + a.Unproved
	}
	if a.Failing = failing(in.Experiment, in.Trials); a.Failing != "" && a.Failed < a.Trials {
		a.Verdict = a.Failing + " " + a.Verdict
	}
	return a
}

// cells are the good trials of one workload that have one quantity, by arm.
type cells struct {
	workload string
	quantity Quantity
	byArm    map[string][]result.Trial
	// good are all good trials by arm, including those that lack the quantity; ranking says how these count.
	good    map[string][]result.Trial
	ranking Ranking
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
	for _, t := range c.byArm[arm] {
		values = append(values, stats.Value{Block: t.Block, Value: c.value(t)})
	}
	return stats.PerBlock(values)
}

// ranked gives the values for comparisons of an arm, including trials that lack the quantity.
func (c cells) ranked(arm string) []stats.Value {
	values, _ := c.ranking.Values(c.good[arm])
	return values
}

// lack is how many good trials of an arm lack the quantity.
func (c cells) lack(arm string) Lack { return c.ranking.LackOf(arm, c.good[arm]) }

// workloadCells groups a workload's good trials by quantity and arm.
func workloadCells(e *experiment.Experiment, trials []result.Trial, workload string) []cells {
	var good []result.Trial
	for _, t := range trials {
		if t.Workload == workload && t.Error == "" {
			good = append(good, t)
		}
	}
	slices.SortStableFunc(good, inOrder)
	byArm := map[string][]result.Trial{}
	for _, t := range good {
		byArm[t.Arm] = append(byArm[t.Arm], t)
	}
	var all []cells
	add := func(q Quantity, c cells) {
		c.workload, c.quantity, c.byArm = workload, q, map[string][]result.Trial{}
		c.good, c.ranking = byArm, NewRanking(q, good)
		for _, t := range good {
			if _, ok := q.Of(t); ok {
				c.byArm[t.Arm] = append(c.byArm[t.Arm], t)
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
// have the rate at which they arrive. A stream has its goodput, and over UDP also its loss.
func Quantities(trials []result.Trial) []Quantity {
	if len(trials) == 0 {
		return nil
	}
	times := func(metric string, stats ...string) (all []Quantity) {
		for _, stat := range stats {
			all = append(all, Quantity{Metric: metric, Stat: stat, Unit: result.Seconds})
		}
		return present(trials, all)
	}
	var all []Quantity
	switch {
	case trials[0].Mode == experiment.Messages:
		return present(trials, []Quantity{rate(result.MessageRate)})
	case trials[0].Definition == result.DefinitionResponseTime:
		if all = times(result.ResponseTime, result.P50, result.P99); len(all) == 0 {
			all = times(result.ResponseTime, result.Mean)
		}
	case trials[0].Tool.Name != "netperf":
		all = times(result.RTT, result.P50, result.P99)
	}
	if len(all) == 0 {
		all = times(result.RTT, result.Mean)
	}
	if len(all) > 0 && !smoothed(trials) {
		return all
	}
	return present(trials, []Quantity{
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
	return present(trials, all)
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

// present keeps the quantities that at least half of the trials of some arm have. If no arm has it, the trials are
// too short for it. If one has it, trials of another arm that lack it count as the worst (Ranking).
func present(trials []result.Trial, candidates []Quantity) []Quantity {
	of := map[string]int{}
	for _, t := range trials {
		of[t.Arm]++
	}
	return slices.DeleteFunc(candidates, func(q Quantity) bool {
		with := map[string]int{}
		for _, t := range trials {
			if _, ok := q.Of(t); ok {
				with[t.Arm]++
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
		if f, ok := Summary("", arm.Name, c.workload, c.ranking, c.good[arm.Name]); ok {
			if deployed(e) {
				OverDeployments(&f, c.ranking, c.good[arm.Name])
			}
			all = append(all, f)
		}
	}
	return all
}

func pointer(q stats.Quantity) *float64 {
	if !q.Known {
		return nil
	}
	v := q.Value
	return &v
}

// list joins names with commas.
func list(names []string) string { return strings.Join(names, ", ") }
