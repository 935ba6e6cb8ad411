package report

import (
	"strconv"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// resolveSection lists, for each comparison, how many blocks find the difference that the user asked about (--resolve).
func resolveSection(a answer.Answer) section {
	out := section{title: "Blocks that find a given difference"}
	asked := make([]figures.Comparison, 0, len(a.Comparisons))
	for _, c := range a.Comparisons {
		if c.Resolve != nil {
			asked = append(asked, c)
		}
	}
	for _, comparisons := range runsOf(asked, quantityOf) {
		first := comparisons[0]
		s := result.ScaleOf(first.Unit, first.Resolve.Difference)
		t := table{head: []string{"arm", ">difference", ">blocks", ">blocks to add"}}
		for _, c := range comparisons {
			r := c.Resolve
			t.add(c.Arm, s.Number(r.Difference), orDash(r.Blocks, strconv.Itoa), orDash(r.BlocksNeeded, strconv.Itoa))
		}
		out.groups = append(out.groups, group{caption(first.Workload, first.Quantity, s), t})
	}
	if len(out.groups) > 0 {
		out.note = "With this many blocks, a true difference of this size is found four times in five, if further\n" +
			"blocks vary as much as the blocks of this run."
	}
	return out
}
