package stats

// In is the same scatter in a run of so many blocks, of which so many comparisons are made in a family: Detectable then
// says what such a run finds, and BlocksNeeded how many blocks it lacks. Where the blocks depend on each other, those
// of the other run count as fewer to the same degree.
func (n Noise) In(blocks, comparisons int) Noise {
	blocks = max(blocks, 0)
	counted := blocks
	if n.measuredBlocks > 0 {
		counted = blocks * n.blocks / n.measuredBlocks
	}
	n.blocks, n.measuredBlocks, n.tests = counted, blocks, max(comparisons, 1)
	return n
}

// Known says whether anything is known of the scatter: not with fewer than 2 blocks, nor where all differences are
// equal.
func (n Noise) Known() bool { return n.bandwidth > 0 }

// Blocks is how many blocks in all find a true difference of this size with the probability Power, in the family of the
// comparison; -1 where that is not known or more than MaxBlocks.
func (n Noise) Blocks(difference float64) int {
	none := n
	none.blocks, none.measuredBlocks = 0, 0
	blocks := none.BlocksNeeded(difference)
	if blocks < 0 {
		return -1
	}
	return n.measured(blocks)
}
