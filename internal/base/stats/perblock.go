package stats

import "slices"

// PerBlock reduces the values of one arm to one value per block: the median. Blocks keep the order in which they
// first occur.
//
// If a block has an even number of values, for example because one trial of three is missing, the last one is left
// out. The median of an odd number of values lies above a further trial of the same kind as often as below, for any
// noise, because the ranks of identically distributed trials are equally likely. The mean of two does not if the
// noise is skewed, and a sign test on it would raise false alarms.
//
// Values of block 0 belong to no block and are kept unchanged.
func PerBlock(values []Value) []Value {
	if onePerBlock(values) {
		return slices.Clone(values)
	}
	var combined []Value
	of := map[int][]float64{}
	for _, v := range values {
		if v.Block == 0 {
			combined = append(combined, v)
			continue
		}
		if len(of[v.Block]) == 0 {
			combined = append(combined, v)
		}
		of[v.Block] = append(of[v.Block], v.Value)
	}
	for i, v := range combined {
		if all := of[v.Block]; len(all) > 1 {
			all = slices.Clone(all[:len(all)-(len(all)+1)%2])
			slices.Sort(all)
			combined[i].Value = median(all)
		}
	}
	return combined
}

// onePerBlock says whether the values are in the order of their blocks, one for each, as in most runs.
func onePerBlock(values []Value) bool {
	for i, v := range values {
		if v.Block == 0 || i > 0 && v.Block <= values[i-1].Block {
			return false
		}
	}
	return len(values) > 0
}
