package contrast

import (
	"nearfar/internal/answer"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// ranking says by which values the trials of both sides are compared.
func (p *Pair) ranking(q answer.Quantity) answer.Ranking {
	return answer.NewRanking(q, p.base.good, p.new.good)
}

// LackOf counts the good trials of either side that lack a quantity which their tool gives.
func (p *Pair) LackOf(q answer.Quantity) (base, other answer.Lack) {
	r := p.ranking(q)
	return r.LackOf(p.sides[0], p.base.good), r.LackOf(p.sides[1], p.new.good)
}

// MissingWarnings warns of trials that lack a quantity.
func (p *Pair) MissingWarnings(q answer.Quantity) []answer.Warning {
	base, other := p.LackOf(q)
	if base.Missing+other.Missing == 0 {
		return nil
	}
	return []answer.Warning{answer.MissingWarning(q, []answer.Lack{other, base}, p.NewArm, p.Workload)}
}

// lost says that a side's trials lack a quantity because of what happened in them: their tool gives it in others of theirs, or in
// all of the other side, and they were measured here and are no shorter than those.
func (c *Contrast) lost(p *Pair, q answer.Quantity, side, other group) bool {
	l := p.ranking(q).LackOf("", side.good)
	const alike = 0.9
	return l.Missing > 0 && (l.Missing < l.Trials || !c.recorded() && length(side.good) >= alike*length(other.good))
}

// length is how long the trials of a group are, in seconds: their median. 0 where they do not say.
func length(trials []result.Trial) float64 {
	var lengths []float64
	for _, t := range trials {
		lengths = append(lengths, t.DurationSeconds)
	}
	return stats.Summarize(lengths).Median.Value
}
