package answer

import (
	"fmt"
	"slices"

	"nearfar/internal/experiment"
)

// settingsOf says what the arms are: all paths, unless they are the same, and what the arms set.
func settingsOf(e *experiment.Experiment) (all []Settings) {
	paths := e.PathsDiffer()
	for _, arm := range e.Arms {
		s := Settings{Arm: arm.Name, Text: e.SettingsText(arm.Name), Set: append([]experiment.Setting{}, arm.Set...)}
		if paths {
			s.Path = arm.PathText()
		}
		if s.Text != "" || s.Path != "" {
			all = append(all, s)
		}
	}
	return all
}

// otherwise lists for each arm the layers in which it differs from the baseline in a workload: "router", "2 vtep", "no
// firewall".
func otherwise(e *experiment.Experiment, workload string) map[string][]string {
	layers := e.LayersIn(workload)
	at := slices.IndexFunc(e.Arms, func(a experiment.Arm) bool { return a.Name == e.Baseline })
	if at < 0 {
		return nil
	}
	base, all := layers[at], map[string][]string{}
	for i, arm := range e.Arms {
		for _, name := range namesOf(layers[i], base) {
			if text := counted(name, layers[i][name], base[name]); text != "" {
				all[arm.Name] = append(all[arm.Name], text)
			}
		}
	}
	return all
}

// namesOf lists the layers of two arms, in the order of a path.
func namesOf(a, b map[string]int) (names []string) {
	for _, layers := range []map[string]int{a, b} {
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
