package contrast

import (
	"slices"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/result"
)

// Unproved says which arms of the pair are not proved to be what they claim, with the names of their sides if the sides
// are different runs. It is empty if both are proved. newOnly ignores Base.
func (p *Pair) Unproved(newOnly bool) string {
	of := func(side, text string) string {
		if text == "" || side == "" || p.oneRun {
			return text
		}
		return side + ": " + text
	}
	if newOnly {
		return of(p.sides[1], p.new.unproved)
	}
	return proof.Joined(of(p.sides[1], p.new.unproved), of(p.sides[0], p.base.unproved))
}

// Unproved says in a sentence which arms are not proved to be what they claim, over all trials that are compared; empty
// if all are.
func (c *Contrast) Unproved() string {
	var parts []string
	for _, p := range c.armProofs() {
		text := p.proof.Text()
		if text == "" {
			continue
		}
		if len(c.sides()) > 1 && c.apartInTime() {
			text = p.side + ": " + text
		}
		parts = append(parts, text)
	}
	return proof.Sentence(parts)
}

// armProof is the proof of an arm of one run of a side.
type armProof struct {
	side  string
	proof proof.ArmProof
}

// armProofs sums up the arms that are compared, for each run. Trials that are dropped are not in it.
func (c *Contrast) armProofs() []armProof {
	var all []armProof
	for _, s := range c.sides() {
		for _, run := range s.each() {
			if run.Experiment == nil {
				continue
			}
			trials := proof.Compared(run.Experiment, run.Trials)
			if s.Workload != "" {
				trials = slices.DeleteFunc(slices.Clone(trials),
					func(t result.Trial) bool { return t.Workload != s.Workload })
			}
			for _, name := range run.arms() {
				if c.compares(s, name) {
					all = append(all, armProof{s.Name, run.proof(name, trials)})
				}
			}
		}
	}
	return all
}

// compares reports whether an arm of a side is in a pair.
func (c *Contrast) compares(s *Side, arm string) bool {
	return slices.ContainsFunc(c.Pairs, func(p Pair) bool {
		if s == c.New {
			return p.NewArm == arm && p.Missing != c.New.Name && (c.alone || p.Missing == "")
		}
		return p.BaseArm == arm && p.Missing == ""
	})
}

// expectations warns of expectations that were not proved, with the evidence.
func (c *Contrast) expectations() []answer.Warning {
	var w []answer.Warning
	for _, p := range c.armProofs() {
		for _, one := range p.proof.Warnings() {
			if !c.alone {
				one.Message = p.side + ": " + one.Message
			}
			one.Message = shorten(one.Message)
			w = append(w, one)
		}
	}
	return unique(w)
}
