package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/experiment"
)

// maxDiffers is how many differences of a declaration are named.
const maxDiffers = 8

// declarations tell runs apart that give the same names to different things: a figure of 64-byte requests is no point in
// the history of one of 1024.
type declarations struct {
	// kinds are the declarations met so far, the newest run's first.
	kinds []map[string]string
}

func newDeclarations() *declarations { return &declarations{} }

// add says which series a run's workload in an arm belongs to, and what it declares otherwise than the first that was added.
func (d *declarations) add(e *experiment.Experiment, workload, arm string) (series int, differs []string) {
	w, _ := e.WorkloadIn(arm, workload)
	a, _ := e.Arm(arm)
	mine := map[string]string{}
	// What these say changes how surely a figure is known, and not what it is of.
	flatten(mine, "workload", w, "name", "duration", "warmup", "optional")
	flatten(mine, "arm", a, "name", "layers_declared", "set", "workloads") // what it sets is in its workload
	for i, kind := range d.kinds {
		if maps.Equal(kind, mine) {
			return i, differences(d.kinds[0], mine)
		}
	}
	d.kinds = append(d.kinds, mine)
	return len(d.kinds) - 1, differences(d.kinds[0], mine)
}

// flatten writes what a declaration says as key and value.
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

// differences says what is declared otherwise than in the newest run.
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
		differs = append(differs, fmt.Sprintf("%s: %s, in the newest run %s", key, said(mine[key]), said(newest[key])))
	}
	return differs
}

func said(value string) string {
	if value == "" {
		return "not given"
	}
	return clip(strings.Trim(value, `"`))
}
