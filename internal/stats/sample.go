package stats

// Sample holds the paired differences of a comparison, to compute intervals at other levels than Alpha.
type Sample struct {
	// differences and ratios are sorted; ratios is empty if they are not known. counted is the effective number.
	differences, ratios []float64
	counted             int
}

// At gives the intervals of the median difference and of the median relative difference with the confidence 1 - level,
// as in Comparison. They are unknown if there are too few blocks for the level.
func (s Sample) At(level float64) (difference, relative Interval) {
	if len(s.differences) == 0 {
		return Interval{}, Interval{}
	}
	difference = countedInterval(s.differences, s.counted, 1-level)
	if len(s.ratios) > 0 {
		relative = countedInterval(s.ratios, s.counted, 1-level)
	}
	return difference, relative
}
