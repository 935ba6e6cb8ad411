package report

import (
	"strconv"

	"nearfar/internal/answer"
	"nearfar/internal/result"
)

// resolveSection says for each comparison how many blocks find the difference that was asked about.
func resolveSection(a answer.Answer) section {
	out := section{title: "Blocks that find a given difference"}
	asked := make([]answer.Comparison, 0, len(a.Comparisons))
	for _, c := range a.Comparisons {
		if c.Resolve != nil {
			asked = append(asked, c)
		}
	}
	for _, comparisons := range runsOf(asked, func(c answer.Comparison) string { return c.Workload + "\x00" + c.Name() }) {
		first := comparisons[0]
		s := result.ScaleOf(first.Unit, first.Resolve.Difference)
		t := table{head: []string{"arm", ">difference", ">blocks", ">more than there are"}}
		for _, c := range comparisons {
			t.add(c.Arm, s.Number(c.Resolve.Difference), blocksText(c.Resolve.Blocks), blocksText(c.Resolve.BlocksNeeded))
		}
		out.groups = append(out.groups, group{caption(first.Workload, first.Quantity, s), t})
	}
	if len(out.groups) > 0 {
		out.note = "A true difference of this size is found four times in five with so many blocks, if further\nblocks scatter as these do."
	}
	return out
}

// blocksText writes a number of blocks that may not be known.
func blocksText(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}
