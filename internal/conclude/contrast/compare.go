package contrast

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// entry is a pair in one quantity.
type entry struct {
	pair     *Pair
	quantity figures.Quantity
	// primary says that it is the workload's first quantity.
	primary bool
}

// Answer compares everything that is comparable, as one table: the p-values are corrected over all of it. Differences
// are New minus Base.
func (c *Contrast) Answer() answer.Answer {
	a := answer.Answer{
		Nearfar: "v1", Ran: answer.Ran{Baseline: c.Base.Name},
		Figures: figures.Figures{
			Arms: []figures.Figure{}, Comparisons: []figures.Comparison{}, Layers: []figures.Layer{},
			Residual: []figures.Residual{},
		},
		Warnings: []answer.Warning{},
		Compared: answer.Compared{Sources: []answer.Source{c.Base.source(), c.New.source()}},
	}
	a.Averages = figures.AveragesOf(slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.Paired }))
	for _, s := range a.Sources {
		a.Trials += s.Trials
		a.Failed += s.Failed
	}
	entries := c.entries()
	a.Arms = c.figures(entries)
	a.Comparisons = c.comparisons(entries)
	a.Failures = c.failuresOf()
	distributions, unread := c.distributions()
	a.Distributions = distributions
	a.Warnings = append(c.warnings(entries), unread...)
	a.Workloads = c.Workloads()
	a.SetProtocols(c.protocol)
	a.Unproved = c.Unproved()
	a.Conclude(c.Named, c.verdict)
	return a
}

// Comparable says whether anything can be compared.
func (c *Contrast) Comparable() bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool {
		return p.Missing == "" && p.Refused == "" && len(c.quantities(&p)) > 0
	})
}

// entries lists the pairs by workload, quantity and arm. A refused pair has one entry, for the first quantity only.
func (c *Contrast) entries() []entry {
	var all []entry
	for i := 0; i < len(c.Pairs); {
		workload := c.Pairs[i].Workload
		var pairs []*Pair
		for ; i < len(c.Pairs) && c.Pairs[i].Workload == workload; i++ {
			if c.Pairs[i].Missing == "" {
				pairs = append(pairs, &c.Pairs[i])
			}
		}
		var quantities []figures.Quantity
		for _, p := range pairs {
			for _, q := range c.quantities(p) {
				if !slices.Contains(quantities, q) {
					quantities = append(quantities, q)
				}
			}
		}
		if len(quantities) == 0 && len(pairs) > 0 {
			quantities = stated(pairs)
		}
		for k, q := range quantities {
			for _, p := range pairs {
				if p.Refused != "" && k > 0 {
					continue // one entry is enough
				}
				all = append(all, entry{p, q, k == 0})
			}
		}
	}
	return all
}

// stated is the quantity that represents a workload if no pair of it can be compared.
func stated(pairs []*Pair) []figures.Quantity {
	for _, p := range pairs {
		for _, g := range []group{p.new, p.base} {
			if all := figures.Quantities(g.good); len(all) > 0 {
				return all[:1]
			}
		}
	}
	return []figures.Quantity{{Metric: result.RTT, Unit: result.Seconds}}
}

// quantities lists the numbers of a pair that are compared: those that both sides have. Tools without a common
// quantity, and imported results, are compared by the mean.
func (c *Contrast) quantities(p *Pair) []figures.Quantity {
	if p.Missing != "" || p.Refused != "" {
		return nil
	}
	base, other := figures.Quantities(p.base.good), figures.Quantities(p.new.good)
	var common []figures.Quantity
	for _, q := range other {
		if slices.Contains(base, q) || c.lost(p, q, p.base, p.new) {
			common = append(common, q)
		}
	}
	for _, q := range base {
		if !slices.Contains(other, q) && c.lost(p, q, p.new, p.base) {
			common = append(common, q)
		}
	}
	both := func(q figures.Quantity) bool {
		return len(figures.Present(p.base.good, []figures.Quantity{q})) > 0 &&
			len(figures.Present(p.new.good, []figures.Quantity{q})) > 0
	}
	mean := figures.Quantity{Metric: result.RTT, Stat: result.Mean, Unit: result.Seconds}
	times := len(base) > 0 && len(other) > 0 && base[0].Metric == result.RTT && other[0].Metric == result.RTT
	if (c.recorded() || len(common) == 0) && times && both(mean) && !slices.Contains(common, mean) {
		common = append([]figures.Quantity{mean}, common...)
	}
	if len(common) > 0 {
		return common
	}
	for _, q := range append(other, base...) {
		if both(q) {
			return []figures.Quantity{q}
		}
	}
	return nil
}

// recorded says whether a side was measured by another program.
func (c *Contrast) recorded() bool { return !c.Base.measuredHere() || !c.New.measuredHere() }

func (c *Contrast) figures(entries []entry) []figures.Figure {
	all := []figures.Figure{}
	seen := map[string]bool{}
	add := func(side, arm, workload string, g group, r figures.Ranking) {
		q := r.Quantity
		key := side + "\x00" + arm + "\x00" + workload + "\x00" + g.workload + "\x00" + q.Name()
		if f, ok := summary(side, arm, workload, g, r); ok && !seen[key] {
			seen[key] = true
			all = append(all, f)
		}
	}
	for _, e := range entries {
		if e.pair.Refused != "" {
			continue // readers would compare figures in one table
		}
		of := e.pair.Workload
		if c.otherWorkloads() {
			of = e.pair.base.workload
		}
		add(c.Base.Name, e.pair.BaseArm, of, e.pair.base, e.pair.ranking(e.quantity))
		add(c.New.Name, e.pair.NewArm, e.pair.Workload, e.pair.new, e.pair.ranking(e.quantity))
	}
	return all
}

// summary is the figure of a group: the median of its attempts, or with several runs of the runs' medians.
func summary(side, arm, workload string, g group, r figures.Ranking) (figures.Figure, bool) {
	if g.runs == nil {
		f, ok := figures.FigureOf(g.deployed(), arm, workload, r, g.attempts)
		f.Side = side
		return f, ok
	}
	f, ok := figures.SummaryOf(side, arm, workload, r.Quantity, units(g, r), r.LackOf("", g.attempts))
	f.Runs, f.Trials = f.Trials, r.Count(g.attempts)
	return f, ok
}

func (c *Contrast) comparisons(entries []entry) []figures.Comparison {
	all := make([]figures.Comparison, len(entries))
	var pairs []stats.Pair
	var samples []stats.Runs
	var several []stats.Deployed
	var numbers [][]int
	var ofPair, ofSamples, ofSeveral []int
	for i, e := range entries {
		all[i] = figures.Comparison{
			Arm: e.pair.NewArm, Baseline: e.pair.BaseArm, Workload: e.pair.Workload, Quantity: e.quantity,
			Confidence: stats.Confidence, Verdict: figures.NotComparable, Reason: e.pair.Refused,
			Unproved: e.pair.Unproved(false),
		}
		if c.otherWorkloads() {
			all[i].BaselineWorkload = e.pair.base.workload
		}
		switch {
		case e.pair.Refused != "":
		case !slices.Contains(c.quantities(e.pair), e.quantity):
			all[i].Reason = "the two have no " + e.quantity.Name() + " in common"
		case e.pair.deployed():
			d, of := e.pair.byDeployment(e.quantity)
			several, numbers, ofSeveral = append(several, d), append(numbers, of), append(ofSeveral, i)
		case e.pair.Paired:
			all[i].About = e.pair.about
			pairs, ofPair = append(pairs, e.pair.inBlocks(e.quantity)), append(ofPair, i)
		default:
			samples, ofSamples = append(samples, e.pair.ofRuns(e.quantity)), append(ofSamples, i)
		}
	}
	for i, s := range stats.CompareAll(pairs) {
		figures.FillPaired(&all[ofPair[i]], s)
	}
	for i, s := range stats.CompareDeployments(several) {
		figures.FillDeployments(&all[ofSeveral[i]], s, numbers[i])
	}
	for i, s := range stats.CompareRuns(samples) {
		if entries[ofSamples[i]].pair.recorded {
			figures.FillRecorded(&all[ofSamples[i]], s)
			continue
		}
		figures.FillRuns(&all[ofSamples[i]], s)
	}
	for i, e := range entries {
		all[i].Lacks(lacks(e))
		all[i].LostMedian(lacks(e))
	}
	return all
}

// lacks counts the attempts of the arm and of the baseline that have no value of an entry's quantity.
func lacks(e entry) (arm, baseline figures.Lack) {
	baseline, arm = e.pair.LackOf(e.quantity)
	return arm, baseline
}

// inBlocks gives the values of a quantity with their blocks; apart gives them without blocks.
func (p *Pair) inBlocks(q figures.Quantity) stats.Pair {
	return p.ranking(q).InBlocks(p.new.tried(), p.base.tried())
}

func (g *group) tried() figures.Tried { return figures.Tried{Attempts: g.attempts, Good: g.good} }

// deployed says whether the pair shares blocks on hosts that were made several times.
func (p *Pair) deployed() bool {
	return p.Paired && (p.new.deployed() || p.base.deployed())
}

// deployed says whether the trials of a run ran on hosts that were made several times.
func (g group) deployed() bool {
	return slices.ContainsFunc(g.good, func(t result.Trial) bool { return t.Deployment > 0 })
}

// byDeployment gives the values of a quantity for each deployment, and the deployments' numbers.
func (p *Pair) byDeployment(q figures.Quantity) (stats.Deployed, []int) {
	return figures.ByDeployment(p.ranking(q), p.new.tried(), p.base.tried())
}

func (p *Pair) apart(q figures.Quantity) stats.Samples {
	arm, baseline := p.ranking(q).Both(p.new.tried(), p.base.tried())
	return stats.Samples{Arm: stats.Numbers(arm), Baseline: stats.Numbers(baseline)}
}

// values gives the quantity of a group, one value for each block of each run.
func values(g group, q figures.Quantity) []stats.Value {
	var all []stats.Value
	if g.runs != nil {
		for _, trials := range g.runs {
			all = append(all, values(group{good: trials}, q)...)
		}
		return all
	}
	for _, t := range g.good {
		if v, ok := q.Of(t); ok {
			all = append(all, stats.Value{Block: t.Block, Value: v})
		}
	}
	return stats.PerBlock(all)
}

// Sources describes the two sides for an answer.
func (c *Contrast) Sources() (base, other answer.Source) { return c.Base.source(), c.New.source() }

// Arm is the name of the pair in rules: the arm of New, or the arm of Base if New has none.
func (p *Pair) Arm(c *Contrast) string {
	if p.Missing == c.New.Name {
		return p.BaseArm
	}
	return p.NewArm
}

// Lacks says why a quantity of the pair cannot be judged, and which figures exist instead; empty if it can. newOnly
// ignores Base.
func (p *Pair) Lacks(q figures.Quantity, newOnly bool) string {
	groups, sides := []group{p.new, p.base}, []string{p.sides[1], p.sides[0]}
	if newOnly {
		groups = groups[:1]
	}
	if q == figures.FailuresQuantity() {
		if slices.ContainsFunc(groups, func(g group) bool { return len(g.attempts) == 0 }) {
			return "there are no trials"
		}
		return ""
	}
	for i, g := range groups {
		switch {
		case len(g.good) == 0 && g.failed > 0:
			return fmt.Sprintf("all %d trials failed; the first: %s", g.failed, shorten(g.reason))
		case len(g.good) == 0 && g.dropped > 0:
			return fmt.Sprintf("all %d trials are dropped, because they are not proved to be what their arm claims",
				g.dropped)
		case len(g.good) == 0:
			return "there are no trials"
		case len(figures.Present(g.good, []figures.Quantity{q})) == 0:
			reason := fmt.Sprintf("most trials have no %s: %s", q.Name(), g.figures())
			if l := p.ranking(q).LackOf(sides[i], g.attempts); l.Missing > 0 {
				reason += fmt.Sprintf("; it is missing in %s", l)
			}
			return reason
		}
	}
	if !newOnly && q.Unit == result.Seconds {
		plain := func(t result.Trial) string { return t.Definition }
		if b, n := figures.Distinct(p.base.good, plain), figures.Distinct(p.new.good, plain); !slices.Equal(b, n) {
			return fmt.Sprintf("not comparable: definition: %s against %s", list(n), list(b))
		}
	}
	return ""
}

// figures lists the figures of a group's trials, as rules write them.
func (g *group) figures() string {
	var names []string
	for _, m := range g.good[0].Metrics {
		if m.Scope == "" && len(names) < 40 {
			names = append(names, strings.TrimSuffix(m.Name+"."+m.Stat, "."))
		}
	}
	if len(names) == 0 {
		return "they have no figures"
	}
	return "there are " + list(names)
}

// Medians are the medians of both sides; of failures the shares.
func (p *Pair) Medians(q figures.Quantity) (base, other stats.Quantity) {
	if q == figures.FailuresQuantity() {
		share := func(g group) stats.Quantity {
			return stats.Quantity{Value: figures.AttemptsOf(g.attempts).Share(), Known: len(g.attempts) > 0}
		}
		return share(p.base), share(p.new)
	}
	base, _, _ = stats.Rank(units(p.base, p.ranking(q)))
	other, _, _ = stats.Rank(units(p.new, p.ranking(q)))
	return base, other
}
