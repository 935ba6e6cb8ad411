package figures

import (
	"fmt"
	"slices"

	"nearfar/internal/declare/experiment"
)

// A difference is what an arm has otherwise than the baseline in a workload.
type difference struct {
	// layers are those in which the two differ: "router", "2 vtep", "no firewall".
	layers []string
	// none says that they have the same hosts and layers.
	none bool
}

// otherwise gives the difference of each arm.
func otherwise(e *experiment.Experiment, workload string) map[string]difference {
	crosses := e.LayersIn(workload)
	at := slices.IndexFunc(e.Arms, func(a experiment.Arm) bool { return a.Name == e.Baseline })
	if at < 0 {
		return nil
	}
	base, hosts, all := crosses[at], e.HostsOf(e.Baseline), map[string]difference{}
	for i, arm := range e.Arms {
		var d difference
		for _, name := range namesOf(crosses[i], base) {
			if text := counted(name, crosses[i][name], base[name]); text != "" {
				d.layers = append(d.layers, text)
			}
		}
		d.none = len(d.layers) == 0 && e.HostsOf(arm.Name) == hosts
		all[arm.Name] = d
	}
	return all
}

// namesOf lists the layers of arms, in the order of a path.
func namesOf(arms ...map[string]int) (names []string) {
	for _, layers := range arms {
		for name := range layers {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, byPath)
	return slices.Compact(names)
}

// counted writes how many more of a layer an arm has than the baseline; nothing if it has as many.
func counted(layer string, of, base int) string {
	switch more := of - base; {
	case more == 0:
		return ""
	case more == 1:
		return layer
	case more > 1:
		return fmt.Sprintf("%d %s", more, layer)
	case of == 0:
		return "no " + layer
	default:
		return fmt.Sprintf("%d %s less", -more, layer)
	}
}
