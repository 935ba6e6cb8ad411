package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
)

// maxDiffers is how many differences of a declaration are named.
const maxDiffers = 8

// declarations tells runs apart that use the same names for different things. For example, a figure of 64-byte requests
// does not belong into the history of a figure of 1024-byte requests.
type declarations struct {
	// kinds are the declarations added so far, the newest run's first.
	kinds []map[string]string
}

// add returns the series that a run's workload in an arm belongs to, and its differences from the declaration that was
// added first.
func (d *declarations) add(e *experiment.Experiment, workload, arm string) (series int, differs []string) {
	w, _ := e.WorkloadIn(arm, workload)
	a, _ := e.Arm(arm)
	mine := map[string]string{}
	// The keys left out change the precision of a figure, not its meaning.
	flatten(mine, "workload", w, "name", "duration", "warmup", "optional")
	flatten(mine, "arm", a, "name", "layers_declared", "set", "workloads") // w already has what the arm sets
	for i, kind := range d.kinds {
		if maps.Equal(kind, mine) {
			return i, differences(d.kinds[0], mine)
		}
	}
	d.kinds = append(d.kinds, mine)
	return len(d.kinds) - 1, differences(d.kinds[0], mine)
}

// flatten adds the keys and values of a declaration to a map, except the keys in without.
func flatten(into map[string]string, prefix string, v any, without ...string) {
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return
	}
	for key, value := range keys {
		if !slices.Contains(without, key) {
			into[prefix+" "+key] = string(value)
		}
	}
}

// differences lists how a declaration differs from the newest run's.
func differences(newest, mine map[string]string) []string {
	differs := []string{}
	keys := slices.Collect(maps.Keys(newest))
	for key := range mine {
		if _, ok := newest[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if newest[key] == mine[key] {
			continue
		}
		if len(differs) == maxDiffers {
			return append(differs, "and more")
		}
		text := fmt.Sprintf("%s: %s, in the newest run %s", key, shown(mine[key]), shown(newest[key]))
		differs = append(differs, text)
	}
	return differs
}

func shown(value string) string {
	if value == "" {
		return "not given"
	}
	return clip(strings.Trim(value, `"`))
}
