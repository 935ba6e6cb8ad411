package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
)

// haveAddresses checks that the hosts have addresses of the IP version that each workload uses.
func (r *Runner) haveAddresses() error {
	var missing []string
	for _, plain := range r.experiment.Workloads {
		for _, arm := range r.experiment.Arms {
			w := r.cells.Of(arm.Name, plain.Name).Workload
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
	text := "addresses are missing, and nothing was measured:\n  " + strings.Join(missing, "\n  ")
	if slices.ContainsFunc(r.experiment.Arms, func(a experiment.Arm) bool { return a.Client != "" }) {
		text += "\nGive the hosts of the file 'address' or 'address6', if they have such addresses"
	}
	if r.experiment.HasPods() {
		text += "\nA pod has IPv6 addresses where its cluster gives it some"
	}
	lab := func(a experiment.Arm) bool { return a.Client == "" && a.Kubernetes == nil }
	if slices.ContainsFunc(r.experiment.Arms, lab) {
		text += "\nA lab has IPv6 where this machine's kernel has it; `nearfar doctor` says whether it does"
	}
	return errors.New(text)
}
