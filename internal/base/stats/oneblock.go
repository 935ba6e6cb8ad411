package stats

import "slices"

// OneBlock says whether one block decides a verdict.
type OneBlock struct {
	// Decides is true if the verdict is Higher or Lower, but would not be without one of the blocks that agree. A
	// NoDifference that one block keeps from being a difference is not remarkable: it is so in every third run of
	// equal arms.
	Decides bool
	// More is how many further blocks a run would have needed so that a difference is found whichever block is left
	// out, if all of them agree with the majority.
	More int
}

// maxMore is the largest value of OneBlock.More.
const maxMore = 1000

// oneBlock finds the verdicts of a table that one block decides. While it varies one comparison, the others stay as
// they are.
func oneBlock(table []Comparison) {
	var sorted []float64
	for _, c := range table {
		if c.RawPValue.Known {
			sorted = append(sorted, c.RawPValue.Value)
		}
	}
	slices.Sort(sorted)
	for i := range table {
		c := &table[i]
		if !c.RawPValue.Known {
			continue
		}
		found := func(blocks, against int) bool {
			counted := max(blocks*c.Serial.Counted/c.Blocks, 1)
			return rejected(sorted, c.RawPValue.Value, countedSignP(blocks, counted, against))
		}
		if n, k := c.Blocks, c.Against; c.Verdict == Higher || c.Verdict == Lower {
			c.OneBlock = decidedBy(!found(n-1, k), func(more int) bool { return found(n-1+more, k) })
		}
	}
}

func decidedBy(decides bool, ended func(more int) bool) OneBlock {
	if !decides {
		return OneBlock{}
	}
	more := 1
	for more < maxMore && !ended(more) {
		more++
	}
	return OneBlock{Decides: true, More: more}
}

// rejected says whether Holm's procedure would reject a hypothesis if its p-value were p instead of old; sorted holds
// the p-values of the table.
func rejected(sorted []float64, old, p float64) bool {
	m := float64(len(sorted))
	switch {
	case p > Alpha:
		return false
	case p*m <= Alpha: // and so are all with a smaller one
		return true
	}
	skipped, rank := false, 0
	for _, other := range sorted {
		if other == old && !skipped {
			skipped = true
			continue
		}
		if other > p {
			break
		}
		if other*(m-float64(rank)) > Alpha {
			return false
		}
		rank++
	}
	return p*(m-float64(rank)) <= Alpha
}
