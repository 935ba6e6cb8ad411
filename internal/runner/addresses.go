package runner

import (
	"fmt"
	"strings"
)

// haveAddresses sees that every server has an address of the IP version that each workload is carried by.
func (r *Runner) haveAddresses() error {
	var missing []string
	for _, w := range r.experiment.Workloads {
		for _, arm := range r.experiment.Arms {
			if _, err := r.pairs[arm.Name].Server.Endpoint().AddressOf(w.IP); err != nil {
				missing = append(missing, fmt.Sprintf("%s (needed by %s)", err, w.Name))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("addresses are missing, and nothing was measured:\n  %s\nA lab has IPv6 where this machine's kernel has it; `nearfar doctor` says whether it does",
		strings.Join(missing, "\n  "))
}
