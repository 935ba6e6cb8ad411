package stats

import "slices"

// Hinge says that one block decides a verdict.
type Hinge struct {
	// Decides is set where the verdict is Higher or Lower and would not be without one of the blocks that agree, and
	// where it is NoDifference and would be Higher or Lower if one of the blocks that contradict agreed.
	Decides bool
	// More is how many further blocks end that, if all of them agree with most: a difference is then found whichever
	// one block is left out, or although all that contradict do so.
	More int
}

// maxMore bounds how many further blocks are thought of for a Hinge.
const maxMore = 1000

// hinge finds the verdicts of a table that one block decides. The other comparisons stay as they are meanwhile.
func hinge(table []Comparison) {
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
		switch n, k := c.Blocks, c.Against; {
		case c.Verdict == Higher || c.Verdict == Lower:
			c.Hinge = hingeAt(!found(n-1, k), func(more int) bool { return found(n-1+more, k) })
		case c.Verdict == NoDifference && k > 0:
			c.Hinge = hingeAt(found(n, k-1), func(more int) bool { return found(n+more, k) })
		}
	}
}

func hingeAt(decides bool, ended func(more int) bool) Hinge {
	if !decides {
		return Hinge{}
	}
	more := 1
	for more < maxMore && !ended(more) {
		more++
	}
	return Hinge{Decides: true, More: more}
}

// rejected says whether Holm's procedure would reject a hypothesis of a family if its p-value were p instead of old;
// sorted are the p-values of the family.
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
