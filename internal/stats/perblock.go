package stats

import "slices"

// PerBlock combines the values of one arm to one for each block: their median. Blocks keep the order in which they
// first occur.
//
// Of an even number of values, as where one trial of three is missing, the last is left out. The median of an odd number lies
// above a further trial of the same kind as often as below, whatever the noise: the ranks of trials that are alike are equally
// likely. The mean of two does not where the noise is skewed, and the sign test on it would raise false alarms.
//
// Values of block 0 are of no block and stay as they are.
func PerBlock(values []Value) []Value {
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
