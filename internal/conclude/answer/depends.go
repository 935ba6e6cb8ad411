package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
)

// tooDependent says whether the verdict of a run may claim nothing, because its blocks surely depend on each other and
// are too few to allow for it. Arms of a lab share a machine, and with it what lasts several blocks: there a sign of
// dependence is a chance of 1 in 40, and the warning suffices.
func tooDependent(a Answer) bool {
	return a.Dependence.Found() && slices.ContainsFunc(a.Comparisons, func(c figures.Comparison) bool {
		return c.About == figures.AboutThisDeployment && c.Blocks < stats.FewestCorrected
	})
}

// TextIndependent says in a sentence what all intervals of a run assume.
const TextIndependent = "The intervals assume that blocks do not depend on each other."

// assumesText says what the intervals of a run assume, with a space before it, or that they are too narrow because
// blocks depend on each other. It is empty for a lab without such a sign: all its arms share a machine, so that a state
// of that lasts several blocks is not in the differences. Hosts of their own can be in one that others are not in, and
// the blocks of a usual run are too few to tell.
func assumesText(a Answer) string {
	if a.Dependence.Found() {
		text := " The blocks of this run depend on each other, so the intervals may be too narrow"
		if tooDependent(a) {
			text += fmt.Sprintf(": with fewer than %d blocks no difference is sure", stats.FewestCorrected)
		}
		return text + "."
	}
	for _, c := range a.Comparisons {
		if c.About == figures.AboutThisDeployment && c.Difference != nil {
			return " " + TextIndependent
		}
	}
	return ""
}

// dependWarning warns of a run whose blocks depend on each other.
func dependWarning(d *figures.Dependence) []Warning {
	if !d.Found() {
		return nil
	}
	return []Warning{{Code: stats.CodeBlocksDepend, Message: fmt.Sprintf("differences depend on those of the blocks "+
		"before, in all comparisons of the run together (mean rank correlation %.2f, p = %.2g): intervals may be too "+
		"narrow, also those of layers", d.Correlation, d.PValue)}}
}

// dependent warns of comparisons whose blocks depend on each other, significantly for the whole table: one warning for
// each quantity, or one for the whole run if none can be named. Each row shows the effective number of blocks beside
// its interval.
func dependent(together *figures.Dependence, comparisons []figures.Comparison) []Warning {
	var tested []figures.Comparison
	var raw []float64
	for _, c := range comparisons {
		if c.Dependence != nil {
			tested = append(tested, c)
			raw = append(raw, c.Dependence.PValue)
		}
	}
	var warnings []Warning
	arms := map[string][]string{}
	first := map[string]figures.Comparison{}
	var order []string
	for i, p := range stats.Holm(raw) {
		if p > stats.Alpha/2 { // the other half is the test of all comparisons together
			continue
		}
		c := tested[i]
		key := c.Workload + "\x00" + c.Name()
		if len(arms[key]) == 0 {
			order = append(order, key)
			first[key] = c
		}
		text := fmt.Sprintf("%s (rank correlation %.2f", c.Arm, c.Dependence.Correlation)
		if c.Dependence.Counted < c.Blocks {
			text += fmt.Sprintf(", %d blocks count as %d)", c.Blocks, c.Dependence.Counted)
		} else {
			text += fmt.Sprintf(", %d blocks are too few to allow for it: the interval is too narrow)", c.Blocks)
		}
		arms[key] = append(arms[key], text)
	}
	for _, key := range order {
		c := first[key]
		warnings = append(warnings, Warning{Code: stats.CodeBlocksDepend, Workload: c.Workload, Message: fmt.Sprintf(
			"differences from %s in %s depend on those of the blocks before: %s", c.Baseline,
			c.Name(), list(arms[key]))})
	}
	if len(warnings) == 0 {
		return dependWarning(together)
	}
	return warnings
}
