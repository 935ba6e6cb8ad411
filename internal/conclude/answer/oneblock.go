package answer

import (
	"fmt"

	"nearfar/internal/conclude/answer/figures"
)

// oneBlock warns of differences that rest on a single block, with one warning for each workload and quantity.
func oneBlock(comparisons []figures.Comparison) []Warning {
	var warnings []Warning
	type key struct {
		workload string
		quantity figures.Quantity
	}
	var keys []key
	texts := map[key][]string{}
	for _, c := range comparisons {
		if c.OneBlock == nil {
			continue
		}
		k := key{c.Workload, c.Quantity}
		if len(texts[k]) == 0 {
			keys = append(keys, k)
		}
		texts[k] = append(texts[k], c.Arm)
	}
	for _, k := range keys {
		warnings = append(warnings, Warning{Code: "one-block-decides", Workload: k.workload,
			Message: fmt.Sprintf("%s: the difference of %s rests on one block: it is not found without one of those "+
				"that agree", k.quantity.Name(), list(texts[k]))})
	}
	return warnings
}
