package figures

import "nearfar/internal/declare/experiment"

// Settled says whether a run may end (--until): every difference of a workload's first quantity from the baseline was
// found, or is known so well that the interval at any time ends within the aim on both sides of it. Differences
// in another unit than the aim do not count. At least one difference has to count.
func Settled(in Run, aim *Aim) bool {
	in = in.unwatched()
	settled := false
	for _, c := range Tables(in) {
		if !c.Primary || c.ReportOnly {
			continue
		}
		baseline := Level(c.Ranked(in.Experiment.Baseline))
		for _, f := range family(in, c, nil) {
			within, ok := aim.Difference(f.Quantity, baseline)
			if !ok || f.Verdict == NotComparable && !c.mayCompare(in.Experiment, f) {
				continue
			}
			if f.Verdict != Higher && f.Verdict != Lower && !f.knownWithin(within) {
				return false
			}
			settled = true
		}
	}
	return settled
}

// mayCompare says whether more blocks could make a refused comparison possible: some trials of an arm are missing.
func (c Cells) mayCompare(e *experiment.Experiment, f Comparison) bool {
	return c.incomparable(f.Arm, e.Baseline, e.SetOtherwise(f.Arm, e.Baseline, c.Workload)) == ""
}

// knownWithin says whether the interval ends at most so far from the difference, on both sides.
func (c Comparison) knownWithin(most float64) bool {
	return c.Difference != nil && c.Interval != nil && c.Interval[1]-*c.Difference <= most &&
		*c.Difference-c.Interval[0] <= most
}
