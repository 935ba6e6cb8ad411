package figures

import (
	"math"
	"slices"

	"nearfar/internal/base/stats"
)

// Layer is the cost of one layer.
type Layer struct {
	Layer    string `json:"layer"`
	Workload string `json:"workload"`
	Quantity
	// Cost is Mean if Arm is empty. If Arm is set, Cost is the median difference of Arm from the baseline, divided by
	// the number of units of the layer in which they differ.
	Cost float64 `json:"cost"`
	// Interval is a 95 % interval of this cost alone. It is extended to 0, and Widened set, if Verdict is
	// no-difference.
	Interval Interval `json:"interval"`
	Widened  bool     `json:"widened,omitempty"`
	// Unbounded says on which side the interval has no bound, if the layer takes it from the comparison with Arm.
	Unbounded string `json:"unbounded,omitempty"`
	// PValue is corrected for the number of layers in the answer (Holm). If Arm is set, it is the p-value of that
	// comparison.
	PValue *float64 `json:"p_value"`
	// Verdict is higher, lower, no-difference or too-few-blocks, as in a comparison.
	Verdict string `json:"verdict"`
	// Arm is set if the cost depends only on this arm's difference from the baseline.
	Arm string `json:"arm,omitempty"`
	// Mean is the cost by least squares; these add up.
	Mean float64 `json:"mean"`
	// Additive is false if the layers do not add up (Additivity): the cost is then an average over these arms. Null if
	// that cannot be tested.
	Additive *bool `json:"additive"`
	// Adds is what the layer adds to each arm that crosses it more often than the baseline: count * Mean.
	Adds []Contribution `json:"adds"`
	// Missing is how many good trials lack the quantity, and are not in the cost.
	Missing int `json:"missing,omitempty"`
	// Detectable is the smallest true cost that is found four times in five, as in a comparison.
	Detectable *float64 `json:"detectable,omitempty"`
	// Unproved says which of the arms that the cost comes from are not proved to be what they claim.
	Unproved string `json:"unproved,omitempty"`
}

// Contribution is a layer's part in the difference of an arm from the baseline.
type Contribution struct {
	Arm   string  `json:"arm"`
	Count float64 `json:"count"`
	Adds  float64 `json:"adds"`
}

// costs gives the cost of each layer, the estimate that it comes from, and the arms that have this layer alone. If the
// cost depends only on the difference of one arm from the baseline, the layer takes that comparison's figures. A second
// estimate of the same thing, with another kind of interval, could contradict the comparison.
func costs(c Cells, s stats.Attribution, comparisons []Comparison) (layers []Layer, estimates []stats.Cost,
	arms [][]alone) {
	for i, cost := range s.Costs {
		if !cost.Cost.Known {
			continue
		}
		l := Layer{
			Layer: cost.Term.Name, Workload: c.Workload, Quantity: c.Quantity,
			Cost: cost.Cost.Value, Mean: cost.Cost.Value,
			Interval: IntervalOf(cost.Interval), PValue: PointerOf(cost.PValue), Adds: []Contribution{},
		}
		if s.Blocks < stats.MinBlocks(1, stats.Alpha) {
			l.Verdict = FewBlocks
		}
		for _, parts := range s.Arms {
			if i < len(parts.Terms) && parts.Terms[i] != 0 && l.Mean != 0 {
				l.Adds = append(l.Adds, Contribution{Arm: parts.Arm,
					Count: parts.Terms[i] / l.Mean, Adds: parts.Terms[i]})
			}
		}
		of := func(p Comparison) bool {
			return p.Arm == cost.Arm && p.Workload == c.Workload && p.Quantity == c.Quantity && p.Difference != nil
		}
		if at := slices.IndexFunc(comparisons, of); cost.Arm != "" && at >= 0 {
			l.quote(comparisons[at], cost.Part)
		}
		layers, estimates = append(layers, l), append(estimates, cost)
		arms = append(arms, havingAlone(s, i, l))
	}
	return layers, estimates, arms
}

// havingAlone lists the arms that differ from the baseline in one term only.
func havingAlone(s stats.Attribution, term int, l Layer) (arms []alone) {
	for _, added := range l.Adds {
		for _, parts := range s.Arms {
			others := 0
			for i, v := range parts.Terms {
				if i != term && v != 0 {
					others++
				}
			}
			if parts.Arm == added.Arm && others == 0 && parts.Unseparated == 0 {
				arms = append(arms, alone{added.Arm, added.Count})
			}
		}
	}
	return arms
}

// quote copies the figures of the comparison with the layer's only arm; cost = part * difference.
func (l *Layer) quote(c Comparison, part float64) {
	l.Arm, l.Cost, l.PValue, l.Verdict, l.Interval = c.Arm, *c.Difference*part, c.PValue, c.Verdict, nil
	if c.Detectable != nil {
		l.Detectable = new(math.Abs(*c.Detectable * part))
	}
	if c.Interval != nil {
		low, high := c.Interval[0]*part, c.Interval[1]*part
		l.Interval = &Bounds{min(low, high), max(low, high)}
		l.Unbounded = l.Interval.Unbounded()
	}
	if part < 0 {
		switch c.Verdict {
		case Higher:
			l.Verdict = Lower
		case Lower:
			l.Verdict = Higher
		}
	}
}

// judgeLayers sets the verdicts of the layers that quote no comparison, by the rule of comparisons: p-values are
// corrected over all of them (Holm), and an interval is extended to 0 if there is no difference. estimates are the
// estimates of the layers.
func judgeLayers(layers []Layer, estimates []stats.Cost) {
	var raw []float64
	var of []int
	for i, l := range layers {
		if l.Arm == "" && l.PValue != nil {
			raw = append(raw, *l.PValue)
			of = append(of, i)
		}
	}
	for j, p := range stats.Holm(raw) {
		l := &layers[of[j]]
		l.PValue = &p
		if l.Verdict == "" { // else there are too few blocks
			l.Detectable = PointerOf(estimates[of[j]].Detectable(len(raw)))
		}
		switch {
		case l.Verdict != "": // too few blocks
			continue
		case p > stats.Alpha:
			l.Verdict = NoDifference
		case l.Cost > 0:
			l.Verdict = Higher
		default:
			l.Verdict = Lower
		}
		if i := l.Interval; l.Verdict == NoDifference && i != nil && (i[0] > 0 || i[1] < 0) {
			l.Interval = &Bounds{min(i[0], 0), max(i[1], 0)}
			l.Widened = true
		}
	}
	for i := range layers {
		if layers[i].Verdict == "" {
			layers[i].Verdict = NotComparable
		}
	}
}
