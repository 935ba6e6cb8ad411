package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// TextThisDeployment says in a sentence what AboutThisDeployment means.
const TextThisDeployment = "This is about these machines: they were deployed once, and others may differ by more."

// AboutText says in a sentence what the comparisons of a run apply to, with a space before it; empty if there is
// nothing to say.
func AboutText(comparisons []figures.Comparison) string {
	most := 0
	var labs []string
	for _, c := range comparisons {
		switch {
		case c.About == figures.AboutTheseLabs && !slices.Contains(labs, c.Arm):
			labs = append(labs, c.Arm)
		case c.About == figures.AboutThisDeployment && c.Difference != nil:
			return " " + TextThisDeployment
		case c.Deployments != nil:
			most = max(most, c.Deployments.Used)
		}
	}
	if len(labs) > 0 {
		return " " + textTheseLabs(labs)
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf(" This is about the configuration: the intervals include how %d deployments differ.", most)
}

// textTheseLabs says in a sentence what AboutTheseLabs means for the arms.
func textTheseLabs(arms []string) string {
	named := more(arms[:min(len(arms), mostNamed)], len(arms))
	return fmt.Sprintf("For %s this is about these labs: equal labs that are made anew differ by up to %s.", named,
		result.Roughly(figures.LabScatter, result.Seconds))
}
