package runner

import (
	"fmt"
	"slices"
	"strings"
)

// haveAddresses checks that the hosts have addresses of the IP version that each workload uses.
func (r *Runner) haveAddresses() error {
	var missing []string
	for _, plain := range r.experiment.Workloads {
		for _, arm := range r.experiment.Arms {
			w, _ := r.experiment.WorkloadIn(arm.Name, plain.Name)
			if _, _, err := r.hosts[arm.Name].Endpoints().Addresses(w.IP); err != nil {
				line := fmt.Sprintf("%s (needed by %s)", err, w.Name)
				if !slices.Contains(missing, line) { // arms may share hosts
					missing = append(missing, line)
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("addresses are missing, and nothing was measured:\n  %s\n"+
		"A lab has IPv6 where this machine's kernel has it; `nearfar doctor` says whether it does",
		strings.Join(missing, "\n  "))
}
