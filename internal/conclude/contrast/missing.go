package contrast

import (
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// ranking gives the values for comparing the trials of both sides.
func (p *Pair) ranking(q figures.Quantity) figures.Ranking {
	return figures.NewRanking(q, p.base.good, p.new.good)
}

// LackOf counts the first attempts of each side that have no value of a quantity: those that failed, and good ones
// whose tool gives the quantity and did not give it here.
func (p *Pair) LackOf(q figures.Quantity) (base, other figures.Lack) {
	r := p.ranking(q)
	return r.LackOf(p.sides[0], p.base.attempts), r.LackOf(p.sides[1], p.new.attempts)
}

// MissingWarnings warns of trials that lack a quantity.
func (p *Pair) MissingWarnings(q figures.Quantity) []answer.Warning {
	base, other := p.LackOf(q)
	if base.Missing+other.Missing == 0 {
		return nil
	}
	return []answer.Warning{answer.MissingWarning(q, []figures.Lack{other, base}, p.NewArm, p.Workload)}
}

// lost says whether a side's trials lack a quantity because of something that happened in them. It is true if their
// tool gives the quantity in some of the side's trials. It is also true if the tool gives it on the other side, both
// sides were measured by nearfar, and the trials are not shorter than the other side's.
func (c *Contrast) lost(p *Pair, q figures.Quantity, side, other group) bool {
	l := p.ranking(q).LackOf("", side.good)
	const alike = 0.9
	return l.Missing > 0 && (l.Missing < l.Trials || !c.recorded() && length(side.good) >= alike*length(other.good))
}

// length is the median duration of a group's trials in seconds; 0 if unknown.
func length(trials []result.Trial) float64 {
	var lengths []float64
	for _, t := range trials {
		lengths = append(lengths, t.DurationSeconds)
	}
	return stats.Summarize(lengths).Median.Value
}
