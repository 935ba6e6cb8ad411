package runner

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/measure/tool"
)

// howToInstall says for each tool with a missing program how to install it on each host that lacks it: a line for each
// command, with the names of its hosts unless all lack the tool.
func (r *Runner) howToInstall(probes map[string]tool.Probe, absent map[string][]string) []string {
	var lines []string
	for name, probe := range probes {
		hosts := map[string][]string{}
		for _, h := range r.everyHost() {
			endpoint := h.Endpoint()
			if !slices.ContainsFunc(probe.Programs, func(program string) bool {
				return slices.Contains(absent[program], endpoint.Name)
			}) {
				continue
			}
			system := endpoint.System
			if system.OS == "" {
				system.OS = "linux"
			}
			how := tool.HowToInstall(name, system, endpoint.Release)
			hosts[how] = append(hosts[how], endpoint.Name)
		}
		for how, names := range hosts {
			switch {
			case how == "":
			case len(names) == len(r.everyHost()):
				lines = append(lines, name+": "+how)
			default:
				lines = append(lines, fmt.Sprintf("%s on %s: %s", name, strings.Join(names, ", "), how))
			}
		}
	}
	slices.Sort(lines)
	return lines
}
