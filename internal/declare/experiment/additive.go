package experiment

import "fmt"

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

// additiveWithin reads the margin; 0 if the file does not give one.
func (r *reader) additiveWithin(f fields) float64 {
	v, ok := r.optional(f, "additive_within")
	if !ok {
		return 0
	}
	margin, ok := quantity(r, v.value, "additive_within", "5%", ParseRatio)
	if ok && (margin == 0 || margin == 1) {
		r.wrong(v.value, "write a margin between 0% and 100%, for example, 5%",
			"additive_within: %s is no margin", bare(v.value.Value))
	}
	return margin
}

// checkAdditive checks the margin of an experiment that was read from a run directory.
func (e *Experiment) checkAdditive() error {
	if m := e.AdditiveWithin; !(m >= 0 && m < 1) { // also not a number
		return fmt.Errorf("additive_within is %v; 0 to 1", m)
	}
	return nil
}
