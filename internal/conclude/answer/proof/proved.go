package proof

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// maxNotProved bounds a list that grows with the number of trials.
const maxNotProved = 10

// Compared lists the trials that figures and comparisons are made from; see IsCompared. Failed trials stay: they are
// counted.
func Compared(e *experiment.Experiment, trials []result.Trial) []result.Trial {
	if e.Unproved != experiment.UnprovedDrop || !e.HasExpectations() {
		return trials
	}
	return slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return !IsCompared(e, t) })
}

// IsCompared is false for a good trial in which an expectation of its arm was not proved, if the experiment drops such
// trials.
func IsCompared(e *experiment.Experiment, t result.Trial) bool {
	if e.Unproved != experiment.UnprovedDrop || t.Error != "" {
		return true
	}
	arm, _ := e.Arm(t.Arm)
	return proved(arm, t)
}

// proved reports whether each expectation of the arm was proved in a trial.
func proved(arm experiment.Arm, t result.Trial) bool {
	return !slices.ContainsFunc(arm.Expect, func(x check.Expectation) bool {
		return Judged(x, t).Outcome != check.Proved
	})
}

// Judged is the judgement of an expectation in a trial. It is unknown if the trial has none. If a damaged record has
// several, it is the worst: refuted, then unknown.
func Judged(x check.Expectation, t result.Trial) check.Judgement {
	worst := check.Judgement{Expectation: x, Outcome: check.Unknown, Evidence: "the trial does not say"}
	badness := map[check.Outcome]int{check.Proved: 1, check.Unknown: 2, check.Refuted: 3}
	most := 0
	for _, j := range t.Expect {
		if !j.Same(x) {
			continue
		}
		if badness[j.Outcome] == 0 {
			j.Outcome = check.Unknown
		}
		if badness[j.Outcome] > most {
			worst, most = j, badness[j.Outcome]
		}
	}
	return worst
}

// Of sums up what the good ones of these trials say about the expectations of their arm. Trials is 0 if none is
// good; the outcome is then unknown.
func Of(arm experiment.Arm, trials []result.Trial) ArmProof {
	p := ArmProof{Arm: arm.Name, Outcome: check.Proved, Expectations: []ExpectationOver{}}
	for _, x := range arm.Expect {
		p.Expectations = append(p.Expectations, ExpectationOver{Expectation: x})
	}
	for _, t := range trials {
		if t.Error != "" || t.Arm != arm.Name {
			continue
		}
		p.Trials++
		for i := range p.Expectations {
			p.Expectations[i].add(t)
		}
	}
	for i := range p.Expectations {
		over := &p.Expectations[i]
		over.conclude(p.Trials)
		switch {
		case over.Outcome == check.Refuted:
			p.Outcome = check.Refuted
		case over.Outcome == check.Unknown && p.Outcome == check.Proved:
			p.Outcome = check.Unknown
		}
	}
	return p
}

// add counts a good trial.
func (o *ExpectationOver) add(t result.Trial) {
	j := Judged(o.Expectation, t)
	first := false
	switch j.Outcome {
	case check.Proved:
		o.Proved++
		first = o.Proved+o.Refuted+o.Unknown == 1
	case check.Refuted:
		o.Refuted++
		first = o.Refuted == 1
	default:
		o.Unknown++
		first = o.Unknown == 1 && o.Refuted == 0
	}
	if first {
		o.Evidence = j.Evidence
	}
	if j.Outcome != check.Proved && len(o.NotProved) < maxNotProved {
		o.NotProved = append(o.NotProved, t.Trial)
	}
}

// conclude sets the outcome over all good trials.
func (o *ExpectationOver) conclude(trials int) {
	switch {
	case o.Refuted > 0:
		o.Outcome = check.Refuted
	case trials > 0 && o.Proved == trials:
		o.Outcome = check.Proved
	default:
		o.Outcome = check.Unknown
		if trials == 0 {
			o.Evidence = "there is no good trial"
		}
	}
}

// Counts says in how many of the trials the expectation was not proved: "refuted in 3 of 12 trials and unknown in 1".
func (o ExpectationOver) Counts() string {
	all := o.Proved + o.Refuted + o.Unknown
	switch {
	case o.Refuted > 0 && o.Unknown > 0:
		return fmt.Sprintf("refuted in %d of %d trials and unknown in %d", o.Refuted, all, o.Unknown)
	case o.Refuted > 0:
		return fmt.Sprintf("refuted in %d of %d trials", o.Refuted, all)
	case o.Unknown > 0:
		return fmt.Sprintf("unknown in %d of %d trials", o.Unknown, all)
	}
	return fmt.Sprintf("proved in %d of %d trials", o.Proved, all)
}

// Text says that an arm is not proved to be what it claims: "vf is not proved to be what it claims:
// accelerated-networking is refuted in 3 of 12 trials". It is empty if all is proved, or if there is no good trial.
func (p ArmProof) Text() string {
	if p.Trials == 0 || p.Outcome == check.Proved {
		return ""
	}
	var parts []string
	more := 0
	for _, o := range p.Expectations {
		switch {
		case o.Outcome == check.Proved:
		case len(parts) == mostTexts:
			more++
		default:
			parts = append(parts, o.Text()+" is "+o.Counts())
		}
	}
	text := p.Arm + " is not proved to be what it claims: " + strings.Join(parts, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if p.Dropped > 0 {
		text += fmt.Sprintf(" (%d of its trials are not compared)", p.Dropped)
	}
	return text
}

// All sums up the arms that expect something.
func All(e *experiment.Experiment, trials []result.Trial) (all Proofs) {
	var texts []string
	for _, arm := range e.Arms {
		if len(arm.Expect) == 0 {
			continue
		}
		p := Of(arm, trials)
		if e.Unproved == experiment.UnprovedDrop {
			for _, t := range trials {
				if t.Arm == arm.Name && t.Error == "" && !proved(arm, t) {
					p.Dropped++
				}
			}
		}
		all.Proof = append(all.Proof, p)
		if text := p.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	all.Unproved = Sentence(texts)
	return all
}

// mostTexts is how many texts a sentence has. The others are counted.
const mostTexts = 4

// Sentence makes a sentence of texts about arms that are not proved. It has the first few and counts the
// others; it is empty without texts.
func Sentence(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	text := strings.Join(texts[:min(len(texts), mostTexts)], "; ")
	if n := len(texts) - mostTexts; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text + "."
}

// Joined joins the texts of arms that are not proved, without empty ones and repetitions.
func Joined(texts ...string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}

// Warnings are about the expectations that were not proved, with the evidence; none without a good trial.
func (p ArmProof) Warnings() (warnings []result.Warning) {
	for _, o := range p.Expectations {
		if p.Trials > 0 && o.Outcome != check.Proved {
			warnings = append(warnings, o.warning(p.Arm))
		}
	}
	return warnings
}

// warning says in which trials the expectation was not proved, and why.
func (o ExpectationOver) warning(arm string) result.Warning {
	var numbers []string
	for _, n := range o.NotProved {
		numbers = append(numbers, fmt.Sprint(n))
	}
	if o.Refuted+o.Unknown > len(numbers) {
		numbers = append(numbers, "...")
	}
	return result.Warning{Code: "expectation-" + string(o.Outcome), Arm: arm, Message: fmt.Sprintf(
		"%s is %s (trial %s): %s", o.Text(), o.Counts(), strings.Join(numbers, ", "), o.Evidence)}
}
