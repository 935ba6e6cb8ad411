package answer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// comparisons compares every arm with the baseline in every quantity.
func comparisons(in Input, tables []cells) []Comparison {
	all := []Comparison{}
	differences := map[string]map[string]difference{}
	for _, c := range tables {
		if c.reportOnly {
			continue
		}
		if _, known := differences[c.workload]; !known {
			differences[c.workload] = otherwise(in.Experiment, c.workload)
		}
		all = append(all, family(in, c, differences[c.workload])...)
	}
	return all
}

// family compares every arm with the baseline in one quantity of one workload. That is one question, so the p-values
// are corrected for all of its arms, but not for other workloads and quantities. differ says what each
// arm has otherwise; nil leaves it out.
func family(in Input, c cells, differ map[string]difference) []Comparison {
	e := in.Experiment
	all := []Comparison{}
	var pairs []stats.Pair
	var samples []stats.Samples
	var several []stats.Deployed
	var numbers [][]int
	var lacks [][2]Lack
	var of []int // the index in all of each entry of pairs or samples
	for _, arm := range e.Arms {
		if arm.Name == e.Baseline {
			continue
		}
		entry := Comparison{
			Arm: arm.Name, Baseline: e.Baseline, Workload: c.workload, Quantity: c.quantity,
			Confidence: stats.Confidence, Verdict: NotComparable,
			Otherwise: differ[arm.Name].layers, Same: differ[arm.Name].none,
		}
		both := [2]Lack{c.lack(arm.Name), c.lack(e.Baseline)}
		lacks = append(lacks, both)
		refused := false
		entry.Lacks(both[0], both[1])
		if reason := c.incomparable(arm.Name, e.Baseline,
			e.SetOtherwise(arm.Name, e.Baseline, c.workload)); reason != "" {
			refused, entry.Reason = true, reason
		}
		switch {
		case refused:
		case e.Unpaired():
			ofArm, ofBaseline := c.ranking.Both(c.tried(arm.Name), c.tried(e.Baseline))
			samples = append(samples, stats.Samples{Arm: stats.Numbers(ofArm), Baseline: stats.Numbers(ofBaseline)})
			of = append(of, len(all))
		case deployed(e):
			d, their := ByDeployment(c.ranking, c.tried(arm.Name), c.tried(e.Baseline))
			several, numbers = append(several, d), append(numbers, their)
			of = append(of, len(all))
		default:
			entry.About = AboutOnce(e, arm.Name, e.Baseline)
			pairs = append(pairs, c.ranking.InBlocks(c.tried(arm.Name), c.tried(e.Baseline)))
			of = append(of, len(all))
		}
		all = append(all, entry)
	}
	for i, s := range in.compareBlocks(pairs) {
		FillPaired(&all[of[i]], s)
		all[of[i]].ofTheseLabs(e)
		all[of[i]].Resolve = in.Resolve.resolution(all[of[i]].Quantity, level(pairs[i].Baseline), s.Noise, s.Blocks,
			s.Blocks)
	}
	for i, s := range stats.CompareSamples(samples) {
		fillUnpaired(&all[of[i]], s)
	}
	for i, s := range stats.CompareDeployments(several) {
		FillDeployments(&all[of[i]], s, numbers[i])
		all[of[i]].plans(in, s, level(c.ranked(e.Baseline)))
	}
	for i := range all {
		all[i].Family = len(of)
		all[i].LostMedian(lacks[i][0], lacks[i][1])
	}
	return all
}

// FillPaired copies the result of a paired comparison.
func FillPaired(c *Comparison, s stats.Comparison) {
	c.fill(s.Outcome)
	c.Blocks = s.Blocks
	c.BlocksNeeded = within(s.BlocksNeeded, s.Blocks)
	if s.Serial.PValue.Known {
		c.Dependence = &Dependence{PValue: s.Serial.PValue.Value, Correlation: s.Serial.Correlation,
			Counted: s.Serial.Counted}
	}
	switch s.Reason {
	case stats.ReasonNoPairs:
		c.Reason = "no block has a good trial on both sides"
	case stats.ReasonTooFewBlocks:
		c.Reason = fmt.Sprintf("%d blocks are too few for a table of this size: it takes %d more",
			s.Blocks, s.BlocksNeeded)
	}
	if s.OneBlock.Decides {
		c.OneBlock = &OneBlock{BlocksMore: s.OneBlock.More}
	}
}

// fill copies what comparisons of every kind say.
func (c *Comparison) fill(o stats.Outcome) {
	c.Difference, c.Interval = PointerOf(o.Difference), IntervalOf(o.Interval)
	c.Relative, c.RelativeInterval = PointerOf(o.Relative), IntervalOf(o.RelativeInterval)
	c.Unbounded, c.Widened = c.Interval.Unbounded(), o.Widened
	c.PValue, c.Detectable = PointerOf(o.PValue), PointerOf(o.Detectable)
	c.Verdict, c.Reason = string(o.Verdict), o.Reason
	c.Better = betterSide(c.Metric, c.Verdict)
}

// mostMore is how many times as much as was measured a number of further blocks, trials, runs or deployments may be. A
// difference that takes more to find is far inside of the noise: what was seen of it is chance, and no size to plan
// for.
const mostMore = 10

// within gives how much more must be measured; nil if that is unknown (negative), or too much to mean anything.
func within(more, measured int) *int {
	if more < 0 || more > mostMore*max(measured, stats.MinBlocks(1, stats.Alpha)) {
		return nil
	}
	return &more
}

// betterSide is "arm" or "baseline" if the two differ and the metric has a better side.
func betterSide(metric, verdict string) string {
	better := result.Better(metric)
	switch {
	case verdict == Higher && better == result.HigherIsBetter, verdict == Lower && better == result.LowerIsBetter:
		return "arm"
	case verdict == Higher && better == result.LowerIsBetter, verdict == Lower && better == result.HigherIsBetter:
		return "baseline"
	}
	return ""
}

// incomparable says why two arms do not measure the same thing, or "". If all trials of an arm lack the quantity, all
// of its good trials are checked.
func (c cells) incomparable(arm, baseline string, set []string) string {
	a, b := c.byArm[arm], c.byArm[baseline]
	if len(a) == 0 && c.lack(arm).Missing > 0 {
		a = c.good[arm]
	}
	if len(b) == 0 && c.lack(baseline).Missing > 0 {
		b = c.good[baseline]
	}
	for _, side := range []struct {
		name string
		with []result.Trial
	}{{arm, a}, {baseline, b}} {
		if len(side.with) == 0 && len(c.good[side.name]) > 0 {
			return fmt.Sprintf("the trials of %s have no %s", side.name, c.quantity.Name())
		}
	}
	return incomparable(a, b, set)
}

// noGoodTrials is the reason for refusing a comparison without a good trial of an arm.
const noGoodTrials = "no good trials on one side"

// incomparable says why the trials of two arms do not measure the same thing, or "". set lists the keys in which the
// arms differ on purpose: properties that follow from them may differ.
func incomparable(arm, baseline []result.Trial, set []string) string {
	if len(arm) == 0 || len(baseline) == 0 {
		return noGoodTrials
	}
	for _, property := range Properties() {
		a, b := Distinct(arm, property.Of), Distinct(baseline, property.Of)
		intended := property.FollowsFrom(set) && len(a) == 1 && len(b) == 1
		if !intended && (!slices.Equal(a, b) || len(a) > 1) {
			return fmt.Sprintf("%s: %s against %s", property.Name, list(a), list(b))
		}
	}
	return ""
}

// Property is a property that trials must share for their numbers to be comparable.
type Property struct {
	Name string
	Of   func(result.Trial) string
	// keys are the keys of a workload that determine the property.
	keys []string
}

// FollowsFrom says whether one of the keys of a workload determines the property.
func (p Property) FollowsFrom(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(p.keys, key) })
}

// Properties lists the properties.
func Properties() []Property {
	return []Property{
		{Name: "definition", Of: DefinitionOf},
		{Name: "protocol", Of: func(t result.Trial) string { return t.Protocol }, keys: []string{"protocol"}},
		{Name: "tool", Of: func(t result.Trial) string { return t.Tool.Name }},
		{Name: "mode", Of: func(t result.Trial) string { return t.Mode }},
		{Name: "message size", Of: func(t result.Trial) string {
			if t.MessageBytes == nil {
				return "unknown"
			}
			return strconv.Itoa(*t.MessageBytes) + " B"
		}, keys: []string{"request", "response", "message", "protocol"}}, // over TCP some tools do not say
		{Name: "offered load", Of: func(t result.Trial) string { return t.Facts["schedule"] },
			keys: []string{"rate", "arrivals"}},
	}
}

// DefinitionOf is the definition of a trial's numbers. For a stream it is a rate: the kernel's smoothed round-trip
// time, which some tools also print for TCP, is not compared.
func DefinitionOf(t result.Trial) string {
	if t.Mode == experiment.Stream {
		return result.DefinitionRate
	}
	return t.Definition
}

// Distinct lists the distinct values of a property of trials, sorted.
func Distinct(trials []result.Trial, of func(result.Trial) string) []string {
	seen := map[string]bool{}
	last := ""
	for i := range trials {
		if v := of(trials[i]); i == 0 || v != last {
			seen[v], last = true, v
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
