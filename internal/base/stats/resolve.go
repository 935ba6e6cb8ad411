package stats

// In gives the same scatter for a run with this many blocks and comparisons in its table: Detectable then says what
// such a run finds, and BlocksNeeded how many blocks it lacks. If blocks depend on each other, the effective number
// of blocks shrinks by the same factor.
func (n Noise) In(blocks, comparisons int) Noise {
	blocks = max(blocks, 0)
	counted := blocks
	if n.measuredBlocks > 0 {
		counted = blocks * n.blocks / n.measuredBlocks
	}
	n.blocks, n.measuredBlocks, n.tests = counted, blocks, max(comparisons, 1)
	return n
}

// Known says whether the scatter is known: not with fewer than 2 blocks, and not if all differences are equal.
func (n Noise) Known() bool { return n.bandwidth > 0 }

// Blocks is the total number of blocks that find a true difference of this size with probability Power in this table;
// -1 if unknown or more than MaxBlocks.
func (n Noise) Blocks(difference float64) int {
	none := n
	none.blocks, none.measuredBlocks = 0, 0
	blocks := none.BlocksNeeded(difference)
	if blocks < 0 {
		return -1
	}
	return n.measured(blocks)
}
