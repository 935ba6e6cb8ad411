package figures

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

// DependTogether tests whether the differences of a run depend on those of the blocks before, in all comparisons
// together; nil if there are too few blocks, or none.
func DependTogether(in Run, tables []Cells) *Dependence {
	e := in.Experiment
	if e.Unpaired() || Deployed(e) {
		return nil
	}
	var pairs []stats.Pair
	for _, c := range tables {
		if c.ReportOnly {
			continue
		}
		for _, arm := range e.Arms {
			if arm.Name != e.Baseline {
				pairs = append(pairs, stats.Pair{Arm: c.Ranked(arm.Name), Baseline: c.Ranked(e.Baseline)})
			}
		}
	}
	s := stats.SerialTogether(pairs)
	if !s.PValue.Known {
		return nil
	}
	return &Dependence{PValue: s.PValue.Value, Correlation: s.Correlation, Counted: s.Counted}
}

// Found says whether blocks surely depend on each other.
func (d *Dependence) Found() bool { return d != nil && d.PValue <= stats.Alpha/2 }
