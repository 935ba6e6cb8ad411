package answer

import (
	"fmt"
	"strings"
)

// oneBlock warns of verdicts that a single block decides, with one warning for each workload and quantity.
func oneBlock(a Answer) []Warning {
	var warnings []Warning
	type key struct {
		workload string
		quantity Quantity
	}
	var keys []key
	texts := map[key][]string{}
	for _, c := range a.Comparisons {
		if c.OneBlock == nil {
			continue
		}
		k := key{c.Workload, c.Quantity}
		if len(texts[k]) == 0 {
			keys = append(keys, k)
		}
		text := "a difference is found for %s, but not without one of the blocks that agree; " +
			"%s settle it, if they agree too"
		if c.Verdict == NoDifference {
			text = "no difference is found for %s, but one would be found if one block fewer contradicted the " +
				"others; %s settle it, if they agree with the majority"
		}
		texts[k] = append(texts[k], fmt.Sprintf(text, c.Arm, moreBlocks(c.OneBlock.BlocksMore)))
	}
	for _, k := range keys {
		warnings = append(warnings, Warning{Code: "one-block-decides", Workload: k.workload,
			Message: fmt.Sprintf("%s: %s", k.quantity.Name(), strings.Join(texts[k], "; "))})
	}
	return warnings
}

func moreBlocks(n int) string {
	if n == 1 {
		return "1 block more would"
	}
	return fmt.Sprintf("%d blocks more would", n)
}
