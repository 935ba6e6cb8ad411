package report

import (
	"fmt"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
)

// proofSection lists the expectations of the arms, whether they were proved, and the evidence.
func proofSection(a answer.Answer) section {
	out := section{title: "Is it what it claims"}
	for _, p := range a.Proof {
		for _, o := range p.Expectations {
			text := fmt.Sprintf("%s: %s is %s", p.Arm, o.Text(), o.Counts())
			if p.Trials == 0 {
				text = fmt.Sprintf("%s: %s is %s", p.Arm, o.Text(), o.Outcome)
			}
			if o.Evidence != "" {
				text += ": " + o.Evidence
			}
			out.lines = append(out.lines, printable(prose.Shorten(text, prose.Longest)))
		}
		if p.Dropped > 0 {
			out.lines = append(out.lines, printable(fmt.Sprintf("%s: %d of %d good trials are not compared", p.Arm,
				p.Dropped, p.Trials)))
		}
	}
	return out
}

// mostProviderAnswers is how many answers of providers a report lists. JSON has all.
const mostProviderAnswers = 20

// providerSection lists what the providers of clouds answered about the hosts of the arms.
func providerSection(a answer.Answer) section {
	out := section{title: "What the providers answered"}
	for i, p := range a.ProviderAnswers {
		if i == mostProviderAnswers {
			out.lines = append(out.lines, fmt.Sprintf("%d more: -f json lists all.", len(a.ProviderAnswers)-i))
			break
		}
		name := p.Arm + ", " + p.Side
		if machine := strings.TrimSpace(p.Cloud + " " + p.Instance); machine != "" {
			name += " (" + machine + ")"
		}
		if len(p.Deployments) > 0 {
			name += fmt.Sprintf(" in deployments %v", p.Deployments)
		}
		out.lines = append(out.lines, printable(prose.Shorten(name+": "+p.Text(), prose.Longest)))
	}
	return out
}

// unprovedMark follows the verdict of a comparison with an arm that is not proved to be what it claims. A note below
// the table, which begins with unprovedLink after the row's name, says which. The mark is short because narrow
// terminals have no room for a word.
const (
	unprovedMark = " !"
	unprovedLink = ": ! "
)

// withRemark joins the remarks on a figure.
func withRemark(texts ...string) string {
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}
