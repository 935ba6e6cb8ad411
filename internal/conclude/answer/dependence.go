package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/base/stats"
)

// dependTogether tests whether the differences of a run depend on those of the blocks before, in all comparisons
// together; nil if there are too few blocks, or none.
func dependTogether(in Input, tables []cells) *Dependence {
	e := in.Experiment
	if e.Unpaired() || deployed(e) {
		return nil
	}
	var pairs []stats.Pair
	for _, c := range tables {
		if c.reportOnly {
			continue
		}
		for _, arm := range e.Arms {
			if arm.Name != e.Baseline {
				pairs = append(pairs, stats.Pair{Arm: c.ranked(arm.Name), Baseline: c.ranked(e.Baseline)})
			}
		}
	}
	s := stats.SerialTogether(pairs)
	if !s.PValue.Known {
		return nil
	}
	return &Dependence{PValue: s.PValue.Value, Correlation: s.Correlation, Counted: s.Counted}
}

// found says whether blocks surely depend on each other.
func (d *Dependence) found() bool { return d != nil && d.PValue <= stats.Alpha/2 }

// tooDependent says whether the verdict of a run may claim nothing, because its blocks surely depend on each other and
// are too few to allow for it. Arms of a lab share a machine, and with it what lasts several blocks: there a sign of
// dependence is a chance of 1 in 40, and the warning suffices.
func tooDependent(a Answer) bool {
	return a.Dependence.found() && slices.ContainsFunc(a.Comparisons, func(c Comparison) bool {
		return c.About == AboutThisDeployment && c.Blocks < stats.FewestCorrected
	})
}

// TextIndependent says in a sentence what all intervals of a run assume.
const TextIndependent = "The intervals assume that blocks do not depend on each other."

// assumesText says what the intervals of a run assume, with a space before it, or that they are too narrow because
// blocks depend on each other. It is empty for a lab without such a sign: all its arms share a machine, so that a state
// of that lasts several blocks is not in the differences. Hosts of their own can be in one that others are not in, and
// the blocks of a usual run are too few to tell.
func assumesText(a Answer) string {
	if a.Dependence.found() {
		text := " The blocks of this run depend on each other, so the intervals may be too narrow"
		if tooDependent(a) {
			text += fmt.Sprintf(": with fewer than %d blocks no difference is sure", stats.FewestCorrected)
		}
		return text + "."
	}
	for _, c := range a.Comparisons {
		if c.About == AboutThisDeployment && c.Difference != nil {
			return " " + TextIndependent
		}
	}
	return ""
}

// dependWarning warns of a run whose blocks depend on each other.
func dependWarning(d *Dependence) []Warning {
	if !d.found() {
		return nil
	}
	return []Warning{{Code: stats.CodeBlocksDepend, Message: fmt.Sprintf("differences depend on those of the blocks "+
		"before, in all comparisons of the run together (mean rank correlation %.2f, p = %.2g): intervals may be too "+
		"narrow, also those of layers", d.Correlation, d.PValue)}}
}
