package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// deploymentsNote explains comparisons whose unit is the deployment.
const deploymentsNote = "The unit is the deployment: its difference is the median over its blocks. " +
	"The difference is\nthe mean of the deployments', with Student's interval. p is corrected for " + eachTable + "\n" +
	"(Holm). \"Detectable\" is the smallest true difference that so many deployments would have\n" +
	"shown four times in five."

// mostListed is how many deployments' differences a report lists. JSON has all.
const mostListed = 20

// deploymentSection lists the differences of the deployments one by one, their scatter, and the runs that would find a
// difference.
func deploymentSection(a answer.Answer) section {
	out := section{title: "Deployments: each one's difference from " + a.Baseline}
	if len(a.Sources) > 0 {
		out.title = "Deployments: each one's difference, B less A"
	}
	var several []figures.Comparison
	unseen := 0.0
	for _, c := range a.Comparisons {
		if c.Deployments != nil {
			several = append(several, c)
			unseen = max(unseen, c.Deployments.Unseen)
		}
	}
	if len(several) == 0 {
		return section{}
	}
	for _, comparisons := range runsOf(several, quantityOf) {
		first := comparisons[0]
		s := scaleOf(comparisons, first.Unit, func(c figures.Comparison) *float64 { return c.Difference })
		t := table{head: []string{"arm", ">SD between", intervalColumn, ">SD within", ">share", "each"}}
		for _, c := range comparisons {
			d := c.Deployments
			t.add(c.Arm, orDash(d.Between, s.Number), d.BetweenInterval.Text(s.Number), orDash(d.Within, s.Number),
				orDash(d.Share, percentOf), "")
			t.note(eachColumn, ": ", eachDeployment(d, s))
			if len(d.Plans) > 0 {
				t.note(eachColumn, "; ", plansText(d, c.Unit))
			}
		}
		out.groups = append(out.groups, group{caption(first.Workload, first.Quantity, s), t})
	}
	out.note = "\"Within\" is the scatter of one block in a deployment, \"between\" what deployments differ by\n" +
		"beyond that, and \"share\" the part of a deployment's variance that comes from the deployment. A\n" +
		"kind of hosts that makes up 30 % of all was in none of these deployments with a probability\n" +
		"of " + percentOf(unseen) + "."
	return out
}

// eachColumn is the index of the column for the deployments' differences.
const eachColumn = 5

// eachDeployment lists the differences of the deployments.
func eachDeployment(d *figures.Deployments, s result.Scale) string {
	var each []string
	for _, one := range d.Each[:min(len(d.Each), mostListed)] {
		text := orDash(one.Difference, s.Signed)
		if !one.Used {
			text += fmt.Sprintf(" (left out: %s)", prose.Plural(one.Blocks, "block"))
		}
		each = append(each, text)
	}
	text := strings.Join(each, ", ")
	if n := len(d.Each) - mostListed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// plansText says which runs would find a difference.
func plansText(d *figures.Deployments, unit string) string {
	var each []string
	for _, p := range d.Plans {
		text := prose.Plural(p.Deployments, "deployment") + " of " + prose.Plural(p.Blocks, "block")
		var with []string
		if p.Seconds != nil {
			with = append(with, fmt.Sprint("about ", time.Duration(*p.Seconds*float64(time.Second)).Round(time.Second)))
		}
		if p.Kind == figures.PlanCheapest {
			with = append(with, "the cheapest")
		}
		if len(with) > 0 {
			text += " (" + strings.Join(with, ", ") + ")"
		}
		each = append(each, text)
	}
	return fmt.Sprintf("a difference of %s is found four times in five by %s", result.Amount(*d.PlansFor, unit),
		strings.Join(each, ", or by "))
}

// percentOf writes a share without a sign: "34 %".
func percentOf(share float64) string { return strconv.Itoa(int(100*share+0.5)) + " %" }
