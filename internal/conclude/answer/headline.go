package answer

import (
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
)

// The verdict may name any finding of the answer, and it names the largest. So what it claims has to hold over all
// tables that it chose from, while the p-values of a table are corrected for that table alone.
//
// The level of the verdict, 5 %, is divided between the tables by weights that add up to 1 and depend only on the
// design (weighted Bonferroni over Holm's procedure in each table; Rosenthal and Rubin, Ensemble-Adjusted p Values,
// Psychological Bulletin 94, 1983). A table with the weight w rejects at 5 % * w with a probability of at most 5 %
// * w if nothing differs in it, so any false claim has a probability of at most 5 %. The tables that an experiment asks
// about first have more weight, so that many further tables cost them little.
const (
	// mainShare is the weight of the first quantities of all workloads together, and of their failures, if there are any.
	// Other quantities share the rest.
	mainShare = 0.9
	// firstShare is the part of mainShare that the first workload of the file has, if there are several.
	firstShare = 0.5
)

// familyOf identifies a table: the arms' differences in one quantity of a workload, the shares of failed trials in a
// workload, or the costs of all layers that do not come from a comparison.
type familyOf struct {
	kind, workload string
	quantity       figures.Quantity
}

// tested is what the p-value of a finding comes from.
type tested struct {
	family familyOf
	// p is corrected for the family; nil if there was no test.
	p *float64
	// main says that the quantity is the first one of its workload, or failures.
	main bool
}

// weights gives the weight of each family with a test. main workloads are in the order of the answer.
func weights(all []tested) map[familyOf]float64 {
	members := map[string][]familyOf{}
	var order []string
	var others []familyOf
	seen := map[familyOf]bool{}
	for _, t := range all {
		switch {
		case t.p == nil || seen[t.family]:
			continue
		case !t.main:
			others = append(others, t.family)
		default:
			if members[t.family.workload] == nil {
				order = append(order, t.family.workload)
			}
			members[t.family.workload] = append(members[t.family.workload], t.family)
		}
		seen[t.family] = true
	}
	w := map[familyOf]float64{}
	share := func(families []familyOf, of float64) {
		for _, f := range families {
			w[f] = of / float64(len(families))
		}
	}
	main := mainShare
	switch {
	case len(others) == 0:
		main = 1
	case len(order) == 0:
		main = 0
	}
	share(others, 1-main)
	for i, workload := range order {
		part := 1.0
		switch {
		case len(order) > 1 && i == 0:
			part = firstShare
		case len(order) > 1:
			part = (1 - firstShare) / float64(len(order)-1)
		}
		share(members[workload], main*part)
	}
	return w
}

// headline sets HeadlineP and HeadlineLevel of the findings; tests belong to them, in the same order, and more are
// those of the answer that have no finding.
//
// If R of m intervals are chosen by their data, those of the level 5 % * R / m miss on average in a share of at most 5
// % (Benjamini and Yekutieli, False Discovery Rate-Adjusted Multiple Confidence Intervals for Selected Parameters, JASA
// 100, 2005). Here 1 / m is the weight of the table divided by its number of tests.
func headline(findings []Finding, tests, more []tested) {
	w := weights(append(more, tests...))
	claims := 0
	size := map[familyOf]int{}
	for i, t := range tests {
		if t.p == nil {
			continue
		}
		findings[i].HeadlineP = new(min(1, *t.p/w[t.family]))
		size[t.family]++
		if findings[i].Claimable() {
			claims++
		}
	}
	for i, t := range tests {
		if findings[i].Claimable() {
			findings[i].HeadlineLevel = new(min(stats.Alpha,
				stats.Alpha*float64(claims)*w[t.family]/float64(size[t.family])))
		}
	}
}

// headlineIntervals gives the findings that the verdict may claim intervals of their HeadlineLevel, if they are of
// differences that are paired within blocks.
func headlineIntervals(in Input, findings []Finding, tables []figures.Cells) {
	if in.Experiment.Unpaired() || figures.Deployed(in.Experiment) {
		return // other intervals, of which only those of the comparison are known
	}
	for i := range findings {
		f := &findings[i]
		if f.HeadlineLevel == nil || f.Kind != OfArm {
			continue
		}
		for _, c := range tables {
			if c.Workload == f.Workload && c.Quantity == f.Quantity {
				difference, relative := stats.IntervalsAt(
					c.Ranking.InBlocks(c.Tried(f.Name), c.Tried(f.Baseline)), *f.HeadlineLevel, in.anyTime())
				f.HeadlineInterval, f.HeadlineRelativeInterval = figures.IntervalOf(difference),
					figures.IntervalOf(relative)
			}
		}
	}
}

// Claimable says whether the verdict may claim the difference: it holds with 95 % confidence over all findings of the
// answer, not only in its table.
func (f Finding) Claimable() bool {
	return f.Differs() && f.HeadlineP != nil && *f.HeadlineP <= stats.Alpha
}
