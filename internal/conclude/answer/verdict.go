package answer

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Conclude ranks the findings and puts the answer into words. sides names the sides of findings, nil for the arms of
// one run; tell tells it.
func (a *Answer) Conclude(sides func(Finding) Sides, tell func(Answer) Statement) {
	if sides == nil {
		sides = sidesOf
	}
	a.Findings = Rank(*a)
	markSetbacks(a, sides)
	t := teller{a: *a, sides: sides}
	for i := range a.Findings {
		a.Findings[i].Text = t.text(a.Findings[i])
	}
	statement := tell(*a)
	failing := a.Failing != "" && a.Failed < a.Trials
	if failing && (len(a.Findings) == 0 || a.Findings[0].Kind != OfFailures || !a.Findings[0].Claimable()) {
		statement = Statement{a.Failing, joined(statement.Headline, statement.Basis), statement.Also}
	}
	if a.Unproved != "" && !strings.Contains(statement.Basis, a.Unproved) {
		statement.Basis = joined(statement.Basis, a.Unproved)
	}
	a.Headline, a.Basis, a.Also, a.Verdict = statement.Headline, statement.Basis, statement.Also, statement.String()
}

func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " ")
}

// verdict is the answer of a run: the strongest findings, or why there is none.
func verdict(e *experiment.Experiment, a Answer) Statement {
	if statement := a.NoiseFloor.statement(a); statement.Headline != "" {
		statement.Basis = joined(statement.Basis, strings.TrimSpace(AboutText(a.Comparisons)))
		return statement
	}
	if len(a.Arms) == 0 {
		if a.Trials > 0 && a.Failed == a.Trials {
			return Statement{Headline: fmt.Sprintf("No answer: all %d trials failed.", a.Trials)}
		}
		if slices.ContainsFunc(a.Proof, func(p proof.ArmProof) bool { return p.Dropped > 0 }) {
			return Statement{Headline: "No answer: all good trials are dropped, because their arms are not proved to be what " +
				"they claim."}
		}
		return Statement{Headline: "No answer: nothing was measured."}
	}
	if len(a.Comparisons) == 0 {
		return oneArm(e, a)
	}
	statement := Tell(a, nil)
	statement.Also = joined(statement.Also, strings.TrimSpace(apart(a)))
	return statement
}

// oneArm tells the first figure of a run without comparisons.
func oneArm(e *experiment.Experiment, a Answer) Statement {
	f := a.Arms[0]
	t := teller{a: a, sides: sidesOf}
	w := wordsOf(f.Quantity, t.measured(f.Workload).Mode)
	workload := ""
	if len(e.Workloads) > 1 {
		workload = f.Workload
	}
	verb, _ := w.verb(true)
	r := roundingOf(f.Quantity, f.Median, f.Interval)
	if r.scale.Unit == points {
		r.scale.Unit = "%"
	}
	text := fmt.Sprintf("With %s, %s %s %s", f.Arm, w.where(workload, f.Over), verb, r.with(r.number(f.Median)))
	if f.Interval != nil {
		text += prose.InBrackets(r.between(f.Interval, false))
	}
	statement := Statement{Headline: text + "; there is no other arm to compare it with.",
		Basis: "From " + prose.Plural(f.Trials, "trial") + "."}
	if len(e.Workloads) > 1 && !e.Imported {
		statement.Basis += " Workloads are never compared: to compare them, make arms of them with set."
	}
	return statement
}

// statement says whether the hosts are sound, and what they can show; nothing if nothing was compared.
func (n *NoiseFloor) statement(a Answer) Statement {
	if n == nil || len(n.Figures) == 0 {
		return Statement{}
	}
	t := teller{a: a, sides: sidesOf}
	where := func(workload string, q figures.Quantity) string {
		return t.where(Finding{Workload: workload, Quantity: q})
	}
	if !n.Sound {
		d := n.Differs[0]
		basis := ""
		if more := len(n.Differs) - 1; more > 0 {
			basis = fmt.Sprintf("It also differs in %s more. ", prose.Plural(more, "figure"))
		}
		return Statement{
			Headline: fmt.Sprintf("%s differs from itself in %s, by %s: do not trust differences that these machines "+
				"show.", n.Arm, where(d.Workload, d.Quantity),
				roundingOf(d.Quantity, d.Difference, nil).size(d.Difference)),
			Basis: basis + fmt.Sprintf("There is no difference, so these machines or this design are not sound "+
				"(p %.2g). By chance alone this happens in at most 5 %% of such runs.", d.PValue),
		}
	}
	statement := Statement{Headline: n.Arm + " does not differ from itself, as it must be."}
	statement.Basis = n.seen(where)
	if n.Recommended != nil {
		statement.Also = n.Recommended.Text
	}
	return statement
}

// seen says what the blocks of the file find in the first quantity of each workload.
func (n *NoiseFloor) seen(where func(string, figures.Quantity) string) string {
	var parts []string
	blocks, done := 0, map[string]bool{}
	for _, f := range n.Figures {
		at := slices.IndexFunc(f.Detectable, func(d DetectableAt) bool { return d.Blocks == n.Blocks })
		if at < 0 || done[f.Workload] || f.Detectable[at].Difference == nil {
			continue
		}
		done[f.Workload], blocks = true, n.Blocks
		text := result.Amount(*f.Detectable[at].Difference, f.Unit)
		if f.Detectable[at].Uncertain() {
			text = "about " + text
		}
		if share := f.Detectable[at].Relative; share != nil {
			text += " (" + result.Share(*share) + ")"
		}
		parts = append(parts, text+" in "+where(f.Workload, f.Quantity))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("The %d blocks of %s find differences of %s four times in five.", blocks, n.Experiment,
		list(parts[:min(len(parts), mostNamed)]))
}

// apart says how closely the layers add up in the quantity that the verdict begins with, and which others' layers do
// not, if layers tell more than arms there.
func apart(a Answer) string {
	if len(a.Findings) == 0 {
		return ""
	}
	lead := a.Findings[(&telling{teller: teller{a: a, sides: sidesOf}}).lead()]
	var tests []figures.Additivity
	for _, t := range a.Additivity {
		first := t.Workload == lead.Workload && t.Quantity == lead.Quantity && leads(a, t.Workload, t.Quantity)
		if t.Text != "" && (first || !t.Additive && layersTell(a, t.Workload, t.Quantity)) {
			tests = append(tests, t)
		}
	}
	var texts []string
	for _, t := range tests {
		if len(tests) > 1 || !t.Additive {
			of := teller{a: a, sides: sidesOf}
			t.Text = "in " + of.where(Finding{Workload: t.Workload, Quantity: t.Quantity}) + " " + t.Text
		}
		texts = append(texts, t.Text)
	}
	if len(texts) == 0 {
		return ""
	}
	text := strings.Join(texts, "; ")
	return " " + strings.ToUpper(text[:1]) + text[1:] + "."
}
