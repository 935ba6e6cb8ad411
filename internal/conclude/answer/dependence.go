package answer

import "nearfar/internal/base/stats"

// Dependence is the dependence of the paired differences on earlier blocks.
type Dependence struct {
	// PValue is the p-value of the rank von Neumann test, for this comparison alone.
	PValue float64 `json:"p_value"`
	// Correlation is the rank correlation of neighbours, at least 0.
	Correlation float64 `json:"correlation"`
	// Counted is the effective number of blocks, used for the interval, the p-value and Detectable.
	Counted int `json:"counted"`
}

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
