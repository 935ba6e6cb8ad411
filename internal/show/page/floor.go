package page

import "nearfar/internal/conclude/answer"

// clippedFloor is clipped for the noise floor of a baseline; nil stays nil.
func clippedFloor(n *answer.NoiseFloor) *answer.NoiseFloor {
	if n == nil {
		return nil
	}
	c := *n
	c.Arm, c.Experiment, c.Resolve = clip(n.Arm), clip(n.Experiment), clip(n.Resolve)
	c.Figures = listOf(n.Figures)
	if n.Recommended != nil {
		r := *n.Recommended
		r.Text, r.Reason = clip(r.Text), clip(r.Reason)
		c.Recommended = &r
	}
	return &c
}

// clippedEarlier is clipped for a quoted baseline; nil stays nil.
func clippedEarlier(e *answer.Earlier) *answer.Earlier {
	if e == nil {
		return nil
	}
	c := *e
	c.Run, c.Arm, c.Figures = clip(e.Run), clip(e.Arm), listOf(e.Figures)
	return &c
}
