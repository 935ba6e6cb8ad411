package answer

import (
	"fmt"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// A good trial can lack a quantity because of what happened in it: one that stalls makes so few observations that it has no p99.
// Left out, the trials that remain would be the arm's best ones. So it counts, as worse than all others.

// Ranking says by which values the trials of a workload are compared in a quantity.
type Ranking struct {
	Quantity
	// ways of measuring have the quantity in some trial: what one never gives is not missing in its trials.
	ways map[string]bool
}

// NewRanking looks at all good trials that are compared.
func NewRanking(q Quantity, groups ...[]result.Trial) Ranking {
	r := Ranking{q, map[string]bool{}}
	for _, trials := range groups {
		for _, t := range trials {
			if _, ok := q.Of(t); ok {
				r.ways[wayOf(t)] = true
			}
		}
	}
	return r
}

// wayOf is what decides which quantities a trial can have: TCP counts no loss.
func wayOf(t result.Trial) string { return t.Tool.Name + " " + t.Mode + " " + t.Protocol }

// Values gives the values of one run's trials, one for each block, and how many trials lack the quantity. The value of such a
// trial is infinite, on the worse side; it has none where the metric has no better side.
func (r Ranking) Values(trials []result.Trial) (values []stats.Value, missing int) {
	values, missing = r.each(trials)
	return stats.PerBlock(values), missing
}

// Count is how many trials have a value.
func (r Ranking) Count(trials []result.Trial) int {
	values, _ := r.each(trials)
	return len(values)
}

// each gives the value of each trial with its block.
func (r Ranking) each(trials []result.Trial) (values []stats.Value, missing int) {
	for _, t := range trials {
		v, ok := r.Of(t)
		if !ok {
			if !r.ways[wayOf(t)] {
				continue
			}
			missing++
			if v, ok = result.Worst(r.Metric); !ok {
				continue
			}
		}
		values = append(values, stats.Value{Block: t.Block, Value: v})
	}
	return values, missing
}

// Numbers gives the values of Values alone.
func (r Ranking) Numbers(trials []result.Trial) (numbers []float64, missing int) {
	values, missing := r.Values(trials)
	for _, v := range values {
		numbers = append(numbers, v.Value)
	}
	return numbers, missing
}

// Lack is how many of a side's good trials lack a quantity.
type Lack struct {
	Name            string
	Missing, Trials int
}

// LackOf counts what a side lacks.
func (r Ranking) LackOf(name string, trials []result.Trial) Lack {
	_, missing := r.Values(trials)
	return Lack{name, missing, len(trials)}
}

// most says that more than half of the trials lack the quantity: they have no median.
func (l Lack) most() bool { return 2*l.Missing > l.Trials }

// String writes "9 of 20 trials of vxlan".
func (l Lack) String() string {
	return fmt.Sprintf("%d of %d trials of %s", l.Missing, l.Trials, l.Name)
}

// Lacks notes how many good trials of the arm and of the baseline lack the quantity. Where most of a side do, the comparison is
// refused, with the reason, and Lacks says so.
func (c *Comparison) Lacks(arm, baseline Lack) (refused bool) {
	if arm.Missing+baseline.Missing > 0 {
		c.Missing = &[2]int{arm.Missing, baseline.Missing}
	}
	if arm.most() || baseline.most() {
		c.Verdict, c.Reason = NotComparable, noMedian(c.Quantity, arm, baseline)
		return true
	}
	return false
}

// LostMedian replaces the reason of a comparison whose difference has no median, though either side has one, by one with counts.
func (c *Comparison) LostMedian(arm, baseline Lack) {
	if c.Verdict == NotComparable && c.Reason == stats.ReasonLost {
		c.Reason = noMedian(c.Quantity, arm, baseline)
	}
}

// noMedian is the reason for a comparison that is refused because trials lack its quantity.
func noMedian(q Quantity, arm, baseline Lack) string {
	return fmt.Sprintf("%s is missing in %s and in %s: there is no median to compare", q.Name(), arm, baseline)
}

// missing warns of trials that lack a quantity that others of their workload have.
func missing(e *experiment.Experiment, c cells) []Warning {
	var lacks []Lack
	lacking, of := 0, ""
	for _, arm := range e.Arms {
		l := c.ranking.LackOf(arm.Name, c.good[arm.Name])
		if lacks = append(lacks, l); l.Missing > 0 {
			lacking, of = lacking+1, arm.Name
		}
	}
	if lacking == 0 {
		return nil
	}
	if lacking > 1 {
		of = ""
	}
	return []Warning{MissingWarning(c.quantity, lacks, of, c.workload)}
}

// CodeMissing is the code of the warning of trials that lack a quantity.
const CodeMissing = "trials-without-figure"

// MissingWarning says which trials lack a quantity, and what is made of them.
func MissingWarning(q Quantity, lacks []Lack, arm, workload string) Warning {
	var parts []string
	for _, l := range lacks {
		parts = append(parts, l.String())
	}
	means := "; they count as worse than all others in medians and comparisons, and are in no mean"
	if _, ok := result.Worst(q.Metric); !ok {
		means = "; they are left out"
	}
	why := ""
	if strings.HasPrefix(q.Stat, "p") {
		why = " (a percentile takes ten observations beyond it, and a trial that stalls has few)"
	}
	return Warning{Code: CodeMissing, Arm: arm, Workload: workload, Message: fmt.Sprintf("%s is missing in %s%s%s", q.Name(), list(parts), why, means)}
}

// layersLeaveOut warns where costs, which are means, rest on fewer trials than there are.
func layersLeaveOut(e *experiment.Experiment, c cells) (Warning, int) {
	var parts []string
	total := 0
	for _, arm := range e.Arms {
		if l := c.ranking.LackOf(arm.Name, c.good[arm.Name]); l.Missing > 0 {
			parts = append(parts, l.String())
			total += l.Missing
		}
	}
	return Warning{Code: "layers-leave-trials-out", Workload: c.workload, Message: fmt.Sprintf(
		"costs and wholes are means, and leave out %s: %s is missing there, so that a cost can be too small", list(parts), c.quantity.Name())}, total
}
