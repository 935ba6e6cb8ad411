package answer

import (
	"fmt"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// leastLost is the share of lost messages from which on a better figure is not said without it.
const leastLost = 0.001

// setback is what speaks against the better side of a finding, in a sentence and in few words: what the same arm does
// worse, or if it is worse, what it does better. Empty if nothing does.
func (t teller) setback(f Finding) (text, short string) {
	if f.Better == "" || f.Difference == nil {
		return "", ""
	}
	if f.Better == "arm" {
		if text := t.fails(f); text != "" {
			return text, "fails more often"
		}
		if text := t.loses(f); text != "" {
			return text, "loses more"
		}
	}
	for _, other := range t.a.Findings {
		opposite := other.Claimable() && other.Better != "" && other.Better != f.Better
		if !opposite || other.subject() != f.subject() || other.Kind == OfFailures || other.Over != f.Over ||
			other.Difference == nil {
			continue
		}
		w := t.words(other)
		verb, direction := w.verb(*other.Difference > 0)
		size := ""
		switch {
		case other.isShare() || other.Relative == nil:
			size = roundingOf(other.Quantity, *other.Difference, other.Interval).size(*other.Difference) + " "
		case *other.Relative >= twofold:
			return fmt.Sprintf("%s %s %s", t.where(other), verb,
				w.times(ratio(*other.Relative))), t.where(other) + " " + verb + " " + direction
		default:
			size = percent(*other.Relative, other.RelativeInterval) + " "
		}
		return t.where(other) + " " + verb + " " + size + direction, t.where(other) + " " + verb + " " + direction
	}
	return "", ""
}

// subject is who a finding is about.
func (f Finding) subject() [3]string { return [3]string{f.Kind, f.Name, f.Baseline} }

// fails says that the arm's trials fail more often than the baseline's, if that is a finding.
func (t teller) fails(f Finding) string {
	for _, other := range t.a.Findings {
		if other.Kind == OfFailures && other.Name == f.Name && other.Baseline == f.Baseline && other.Better == "baseline" &&
			other.Differs() {
			return "its trials fail more often"
		}
	}
	return ""
}

// loses says how much of an arm's messages are lost, from the figures that stand beside the compared ones.
func (t teller) loses(f Finding) string {
	lost := func(arm string) float64 {
		for _, b := range t.a.Arms {
			if b.Arm == arm && b.Workload == f.Workload && b.Metric == result.Loss && b.Scope == "" {
				return b.Median
			}
		}
		return 0
	}
	share := lost(f.Name)
	if share < leastLost || share < 2*lost(f.Baseline) {
		return ""
	}
	return result.Share(share) + " of its " + lostOf(t.measured(f.Workload).Mode) + " are lost"
}

// mixed tells the setbacks of the other arms, once for each.
func (t *telling) mixed(lead int) (sentences []string) {
	done := map[[3]string]bool{}
	if t.a.Findings[lead].Claimable() {
		done[t.a.Findings[lead].subject()] = true
	}
	left := 0
	for _, f := range t.a.Findings {
		if !f.Claimable() || done[f.subject()] || f.Kind == OfFailures {
			continue
		}
		text, _ := t.setback(f)
		if text == "" {
			continue
		}
		done[f.subject()] = true
		if len(sentences) == mostSaid {
			left++
			continue
		}
		w := t.words(f)
		verb, direction := w.verb(f.Verdict == figures.Higher)
		sentences = append(sentences, fmt.Sprintf("Mixed: %s, %s %s %s, but %s.", uncapital(t.sides(f).With), t.where(f),
			verb, direction, text))
	}
	if left > 0 {
		sentences = append(sentences, fmt.Sprintf("Mixed results of %s more.", prose.Plural(left, "arm")))
	}
	return sentences
}

// markSetbacks says beside each better figure of an arm what the arm does worse: no table then shows only the better.
func markSetbacks(a *Answer, sides func(Finding) Sides) {
	t := teller{a: *a, sides: sides}
	for i := range a.Findings {
		f := &a.Findings[i]
		if f.Better != "arm" || f.Kind != OfArm {
			continue
		}
		f.But, _ = t.setback(*f)
		for k := range a.Comparisons {
			c := &a.Comparisons[k]
			if c.Arm == f.Name && c.Baseline == f.Baseline && c.Workload == f.Workload && c.Quantity == f.Quantity {
				c.But = f.But
			}
		}
	}
}
