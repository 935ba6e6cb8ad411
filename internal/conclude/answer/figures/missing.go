package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// A good trial can lack a quantity because of something that happened in it: a trial that stalls makes too few
// observations for a p99. If it were left out, only the arm's best trials would remain. So it counts as worse than all
// others. So does the first attempt of a trial that failed, although another one replaced it: the replacement ran at
// another moment, and if an arm fails in bad moments only, it would be a second draw that the other arms do not have.

// Ranking gives the values for comparing the trials of a workload in a quantity.
type Ranking struct {
	Quantity
	// ways are the ways of measuring that give the quantity in at least one trial. If a way never gives it, it is not
	// missing from its trials.
	ways map[way]bool
}

// NewRanking uses all good trials that are compared; it ignores failed ones.
func NewRanking(q Quantity, groups ...[]result.Trial) Ranking {
	r := Ranking{q, map[way]bool{}}
	var last way
	for _, trials := range groups {
		for i := range trials {
			if of := wayOf(&trials[i]); of == last && r.ways[last] {
				continue
			} else if _, ok := q.of(&trials[i]); ok && trials[i].Error == "" {
				r.ways[of], last = true, of
			}
		}
	}
	return r
}

// way is what determines which quantities a trial can have: TCP counts no loss, for example.
type way struct{ tool, mode, protocol string }

func wayOf(t *result.Trial) way { return way{t.Tool.Name, t.Mode, t.Protocol} }

// Values gives the values of the first attempts of one run, one for each block. The value of an attempt that failed, or
// that lacks the quantity, is infinite, on the worse side; if the metric has no better side, it is left out.
func (r Ranking) Values(attempts []result.Trial) []stats.Value {
	values, _, _ := r.each(attempts)
	return stats.PerBlock(values)
}

// Numbers is Values without the blocks.
func (r Ranking) Numbers(attempts []result.Trial) []float64 { return stats.Numbers(r.Values(attempts)) }

// Count is how many attempts have a value.
func (r Ranking) Count(attempts []result.Trial) int {
	values, _, _ := r.each(attempts)
	return len(values)
}

// Tried are an arm's trials: the first attempts, and the good trials, of which some replace failed attempts.
type Tried struct{ Attempts, Good []result.Trial }

// Both gives the values of an arm and of its baseline. If most attempts of a side have no figure, the comparison has no
// size, and only its sign counts: a good trial without the figure is then worse than the other side only if what is
// known of it is. A trial too short for a p99 has a p50, and its p99 is at least that. If it is not worse than the
// other side, the trial counts as equal.
func (r Ranking) Both(arm, baseline Tried) (ofArm, ofBaseline []stats.Value) {
	ofArm, ofBaseline = r.Values(arm.Attempts), r.Values(baseline.Attempts)
	a, b := ofArm, ofBaseline
	if r.LackOf("", arm.Attempts).most() {
		ofArm = r.atLeast(arm.Attempts, b)
	}
	if r.LackOf("", baseline.Attempts).most() {
		ofBaseline = r.atLeast(baseline.Attempts, a)
	}
	return ofArm, ofBaseline
}

// InBlocks is Both for two sides that share blocks. In a block in which attempts of both failed, so that both are the
// worst, replacements take the place of the failed attempts: neither side then has a second draw that the other lacks.
// If the replacements failed as well, the block says nothing about a difference, and is left out.
func (r Ranking) InBlocks(arm, baseline Tried) stats.Pair {
	var p stats.Pair
	p.Arm, p.Baseline = r.Both(arm, baseline)
	worst := map[int]bool{}
	for _, v := range p.Baseline {
		worst[v.Block] = math.IsInf(v.Value, 0)
	}
	a, b := arm.failedBlocks(), baseline.failedBlocks()
	both := map[int]bool{}
	for _, v := range p.Arm {
		both[v.Block] = worst[v.Block] && math.IsInf(v.Value, 0) && a[v.Block] && b[v.Block]
	}
	p.Arm, p.Baseline = r.again(p.Arm, arm, both), r.again(p.Baseline, baseline, both)
	return p
}

// again replaces the values of some blocks by those of replacements, and leaves out blocks without any.
func (r Ranking) again(values []stats.Value, tried Tried, blocks map[int]bool) []stats.Value {
	of := map[int]float64{}
	for _, v := range r.Values(tried.replaced()) {
		of[v.Block] = v.Value
	}
	var all []stats.Value
	for _, v := range values {
		if blocks[v.Block] {
			value, ok := of[v.Block]
			if !ok || math.IsInf(value, 0) {
				continue
			}
			v.Value = value
		}
		all = append(all, v)
	}
	return all
}

// failedBlocks are the blocks in which an attempt failed.
func (t Tried) failedBlocks() map[int]bool {
	failed := map[int]bool{}
	for _, trial := range t.Attempts {
		failed[trial.Block] = failed[trial.Block] || trial.Error != ""
	}
	return failed
}

// replaced gives the attempts, with good replacements in the place of failed ones.
func (t Tried) replaced() []result.Trial {
	by := map[int]result.Trial{}
	for _, trial := range t.Good {
		if trial.Replaces > 0 {
			by[trial.Replaces] = trial
		}
	}
	all := slices.Clone(t.Attempts)
	for i, trial := range all {
		if again, ok := by[trial.Trial]; ok {
			all[i] = again
		}
	}
	return all
}

// atLeast is Values with attempts that need not be worse than the other side's median set to it.
func (r Ranking) atLeast(attempts []result.Trial, other []stats.Value) []stats.Value {
	values, _, _ := r.each(attempts)
	median, _, _ := stats.Rank(stats.Numbers(other))
	if !median.Known {
		return stats.PerBlock(values)
	}
	at := 0
	for i := range attempts {
		t := &attempts[i]
		if !r.counts(t, attempts) {
			continue
		}
		if bound, ok := r.lowerBound(t); ok && math.IsInf(values[at].Value, 1) && bound <= median.Value {
			values[at].Value = median.Value
		}
		at++
	}
	return stats.PerBlock(values)
}

// lowerBound is a lower bound of the quantity in a good trial that lacks it: the highest of its smaller percentiles.
func (r Ranking) lowerBound(t *result.Trial) (bound float64, ok bool) {
	if t.Error != "" || r.Unit != result.Seconds {
		return 0, false
	}
	order := func(stat string) float64 {
		if stat == result.Min {
			return 0
		}
		p, err := strconv.ParseFloat(strings.TrimPrefix(stat, "p"), 64)
		if err != nil {
			return -1
		}
		return p
	}
	for _, m := range t.Metrics {
		of := m.Name == r.Metric && m.Scope == r.Scope
		if below := order(m.Stat); of && below >= 0 && below < order(r.Stat) {
			bound, ok = math.Max(bound, m.Value), true
		}
	}
	return bound, ok
}

// each gives the value of each attempt with its block, and how many attempts lack the quantity or failed.
func (r Ranking) each(attempts []result.Trial) (values []stats.Value, missing, failed int) {
	values = make([]stats.Value, 0, len(attempts))
	for i := range attempts {
		t := &attempts[i]
		if !r.counts(t, attempts) {
			continue
		}
		v, ok := r.of(t)
		switch {
		case t.Error != "":
			failed++
		case !ok:
			missing++
		}
		if t.Error != "" || !ok {
			if v, ok = r.Worst(); !ok {
				continue
			}
		}
		values = append(values, stats.Value{Block: t.Block, Value: v})
	}
	return values, missing, failed
}

// counts says whether an attempt counts among others of the same arm: its way of measuring gives the quantity. A failed
// attempt does not always say how it was measured. It counts as the good ones do.
func (r Ranking) counts(t *result.Trial, attempts []result.Trial) bool {
	if t.Error == "" {
		return r.ways[wayOf(t)]
	}
	if _, ok := r.Worst(); !ok || len(r.ways) == 0 {
		return false
	}
	good := slices.IndexFunc(attempts, func(t result.Trial) bool { return t.Error == "" })
	return good < 0 || r.ways[wayOf(&attempts[good])]
}

// Lack is how many of a side's attempts have no value of a quantity: good ones that lack it, and failed ones.
type Lack struct {
	Name                    string
	Missing, Failed, Trials int
}

// LackOf counts the attempts of a side that have no value.
func (r Ranking) LackOf(name string, attempts []result.Trial) Lack {
	_, missing, failed := r.each(attempts)
	return Lack{name, missing, failed, len(attempts)}
}

// most says whether more than half of the attempts have no value, so that there is no median.
func (l Lack) most() bool { return 2*(l.Missing+l.Failed) > l.Trials }

// String writes "9 of 20 trials of vxlan", or "9 of 20 trials of vxlan (2 of these failed)".
func (l Lack) String() string {
	text := fmt.Sprintf("%d of %d trials of %s", l.Missing+l.Failed, l.Trials, l.Name)
	if l.Failed > 0 {
		text += fmt.Sprintf(" (%d of these failed)", l.Failed)
	}
	return text
}

// Lacks records how many good trials of the arm and of the baseline lack the quantity, and how many attempts failed.
func (c *Comparison) Lacks(arm, baseline Lack) {
	if arm.Missing+baseline.Missing > 0 {
		c.Missing = &[2]int{arm.Missing, baseline.Missing}
	}
	if arm.Failed+baseline.Failed > 0 {
		c.Failed = &[2]int{arm.Failed, baseline.Failed}
	}
}

// LostMedian gives a comparison whose difference has no median a reason with counts. The sign of the difference can be
// sure all the same. If it is not, the comparison is refused.
func (c *Comparison) LostMedian(arm, baseline Lack) {
	lost := c.Reason == stats.ReasonLost
	if !lost && (c.Difference == nil || !arm.most() && !baseline.most()) {
		return
	}
	c.Reason = NoMedian(c.Quantity, arm, baseline)
	if lost && (c.Verdict == Higher || c.Verdict == Lower) {
		c.Reason = "by how much is unknown: " + c.Reason
		return
	}
	c.Verdict, c.Better, c.Widened, c.Unbounded = NotComparable, "", false, ""
	c.Difference, c.Interval, c.Relative, c.RelativeInterval = nil, nil, nil, nil
	c.PValue, c.Detectable, c.BlocksNeeded, c.OneBlock, c.Resolve = nil, nil, nil, nil, nil
}

// NoMedian says why a quantity has no median on two sides.
func NoMedian(q Quantity, arm, baseline Lack) string {
	return fmt.Sprintf("%s is missing in %s and in %s: there is no median to compare", q.Name(), arm, baseline)
}

// layersLeaveOut warns if costs, which are means, leave out trials.
func layersLeaveOut(e *experiment.Experiment, c Cells) (result.Warning, int) {
	var parts []string
	total := 0
	for _, arm := range e.Arms {
		if l := c.Ranking.LackOf(arm.Name, c.Good[arm.Name]); l.Missing > 0 {
			parts = append(parts, l.String())
			total += l.Missing
		}
	}
	return result.Warning{Code: "layers-leave-trials-out", Workload: c.Workload, Message: fmt.Sprintf(
		"costs and wholes are means and leave out %s, in which %s is missing: a cost can be too small",
		strings.Join(parts, ", "), c.Quantity.Name())}, total
}
