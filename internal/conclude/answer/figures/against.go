package figures

import (
	"fmt"
	"math"

	"nearfar/internal/declare/result"
)

// CodeAgainst is the code of the warning of a layer and a comparison that contradict each other.
const CodeAgainst = "layer-against-comparison"

// alone is an arm that differs from the baseline by one layer only.
type alone struct {
	arm string
	// count is how many more of the layer it has.
	count float64
}

// against warns of layers that contradict the comparison of an arm that differs from the baseline by this layer alone,
// and says why both can be right. arms has the arms of each layer.
func (f Figures) against(arms [][]alone) []result.Warning {
	var warnings []result.Warning
	for i, l := range f.Layers {
		for _, arm := range arms[i] {
			for _, c := range f.Comparisons {
				if l.Arm != "" || c.Arm != arm.arm || c.Workload != l.Workload || c.Quantity != l.Quantity ||
					!contradict(l, c, arm.count) {
					continue
				}
				warnings = append(warnings, result.Warning{Code: CodeAgainst, Arm: c.Arm, Workload: c.Workload,
					Message: fmt.Sprintf("the layer %s: %s; but %s, which differs from %s by %+.3g %s only: %s. %s", l.Layer,
						judged(l.Verdict, WithInterval(Comparison{Quantity: l.Quantity, Difference: &l.Cost, Interval: l.Interval})),
						c.Arm, c.Baseline, arm.count, l.Layer, judged(c.Verdict, WithInterval(c)), f.why(l))})
			}
		}
	}
	return warnings
}

// contradict says whether a layer, of which the arm of a comparison has count more than the baseline, contradicts the
// comparison: the comparison finds a difference, and the layer none or one of the other sign, or their intervals have
// no value in common.
func contradict(l Layer, c Comparison, count float64) bool {
	sign := map[string]float64{Higher: 1, Lower: -1, NoDifference: 0}
	layer, known := sign[l.Verdict]
	arm, compared := sign[c.Verdict]
	if !known || !compared {
		return false
	}
	if arm != 0 && layer*math.Copysign(1, count) != arm {
		return true
	}
	if l.Interval == nil || c.Interval == nil {
		return false
	}
	low, high := min(l.Interval[0]*count, l.Interval[1]*count), max(l.Interval[0]*count, l.Interval[1]*count)
	return low > c.Interval[1] || high < c.Interval[0]
}

// judged writes a verdict with its figures.
func judged(verdict, figures string) string {
	if verdict == NoDifference {
		return "none seen (" + figures + ")"
	}
	return figures
}

// why says why a layer's cost and a comparison can differ.
func (f Figures) why(l Layer) string {
	const averages = "A cost is a mean over all arms that differ in the layer, a comparison the median of one arm"
	for _, t := range f.Additivity {
		if t.Workload == l.Workload && t.Quantity == l.Quantity && t.Fit != "within" {
			return averages + "; and the layers do not surely add up"
		}
	}
	return averages + ": scattered or skewed trials tell them apart"
}
