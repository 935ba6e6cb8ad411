package answer

import (
	"fmt"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// A good trial can lack a quantity because of something that happened in it: a trial that stalls makes too few
// observations for a p99. If it were left out, only the arm's best trials would remain. So it counts as worse than
// all others.

// Ranking gives the values for comparing the trials of a workload in a quantity.
type Ranking struct {
	Quantity
	// ways are the ways of measuring that give the quantity in at least one trial. If a way never gives it, it is not
	// missing from its trials.
	ways map[way]bool
}

// NewRanking uses all good trials that are compared.
func NewRanking(q Quantity, groups ...[]result.Trial) Ranking {
	r := Ranking{q, map[way]bool{}}
	var last way
	for _, trials := range groups {
		for i := range trials {
			if of := wayOf(&trials[i]); of == last && r.ways[last] {
				continue
			} else if _, ok := q.of(&trials[i]); ok {
				r.ways[of], last = true, of
			}
		}
	}
	return r
}

// way is what determines which quantities a trial can have: TCP counts no loss, for example.
type way struct{ tool, mode, protocol string }

func wayOf(t *result.Trial) way { return way{t.Tool.Name, t.Mode, t.Protocol} }

// Values gives the values of one run's trials, one for each block, and how many trials lack the quantity. The value
// of such a trial is infinite, on the worse side; if the metric has no better side, the trial is left out.
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
	values = make([]stats.Value, 0, len(trials))
	for i := range trials {
		t := &trials[i]
		v, ok := r.of(t)
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

// Numbers is Values without the blocks.
func (r Ranking) Numbers(trials []result.Trial) (numbers []float64, missing int) {
	values, missing := r.Values(trials)
	return stats.Numbers(values), missing
}

// Lack is how many of a side's good trials lack a quantity.
type Lack struct {
	Name            string
	Missing, Trials int
}

// LackOf counts the trials of a side that lack the quantity.
func (r Ranking) LackOf(name string, trials []result.Trial) Lack {
	_, missing := r.Values(trials)
	return Lack{name, missing, len(trials)}
}

// most says whether more than half of the trials lack the quantity, so that there is no median.
func (l Lack) most() bool { return 2*l.Missing > l.Trials }

// String writes "9 of 20 trials of vxlan".
func (l Lack) String() string {
	return fmt.Sprintf("%d of %d trials of %s", l.Missing, l.Trials, l.Name)
}

// Lacks records how many good trials of the arm and of the baseline lack the quantity. If more than half of a side
// do, it refuses the comparison with a reason, and returns true.
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

// LostMedian replaces the reason of a comparison whose difference has no median, although both sides have one, by a
// reason with counts.
func (c *Comparison) LostMedian(arm, baseline Lack) {
	if c.Verdict == NotComparable && c.Reason == stats.ReasonLost {
		c.Reason = noMedian(c.Quantity, arm, baseline)
	}
}

// noMedian is the reason for refusing a comparison whose trials lack the quantity.
func noMedian(q Quantity, arm, baseline Lack) string {
	return fmt.Sprintf("%s is missing in %s and in %s: there is no median to compare", q.Name(), arm, baseline)
}

// missing warns of trials that lack a quantity that other trials of their workload have.
func missing(e *experiment.Experiment, c cells) []Warning {
	var lacks []Lack
	lacking, of := 0, ""
	for _, arm := range e.Arms {
		l := c.lack(arm.Name)
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

// MissingWarning says which trials lack a quantity, and how they count.
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
		why = " (a percentile needs ten observations beyond it, and a trial that stalls has few)"
	}
	return Warning{Code: CodeMissing, Arm: arm, Workload: workload,
		Message: fmt.Sprintf("%s is missing in %s%s%s", q.Name(), list(parts), why, means)}
}

// layersLeaveOut warns if costs, which are means, leave out trials.
func layersLeaveOut(e *experiment.Experiment, c cells) (Warning, int) {
	var parts []string
	total := 0
	for _, arm := range e.Arms {
		if l := c.lack(arm.Name); l.Missing > 0 {
			parts = append(parts, l.String())
			total += l.Missing
		}
	}
	return Warning{Code: "layers-leave-trials-out", Workload: c.workload, Message: fmt.Sprintf(
		"costs and wholes are means and leave out %s, in which %s is missing: a cost can be too small", list(parts),
		c.quantity.Name())}, total
}
