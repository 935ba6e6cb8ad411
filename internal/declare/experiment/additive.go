package experiment

// DefaultAdditiveMargin is the margin if the file does not say another.
const DefaultAdditiveMargin = 0.05

// AdditiveMargin is how far an arm may lie from the sum of its layers, as a share of the largest difference between an
// arm and the baseline, for the layers to count as adding up.
func (e *Experiment) AdditiveMargin() float64 {
	if e.AdditiveWithin > 0 {
		return e.AdditiveWithin
	}
	return DefaultAdditiveMargin
}
