package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/host"
)

// checkCongestion refuses congestion controls that the kernel of a client's host does not have: otherwise every trial
// with them fails. Labs are on this machine, whose kernel is asked before they are made. A host that does not answer
// the question, because its agent is older, is not refused.
func (r *Runner) checkCongestion(ctx context.Context) error {
	type question struct {
		at   host.Host
		name string
	}
	var asked []question
	var wrong []string
	for _, arm := range r.experiment.Arms {
		if arm.Lab != nil {
			continue
		}
		for _, plain := range r.experiment.Workloads {
			w := r.cells.Of(arm.Name, plain.Name).Workload
			q := question{r.hosts[arm.Name].Client, w.Congestion}
			if q.name == "" || w.Optional || slices.Contains(asked, q) {
				continue
			}
			asked = append(asked, q)
			printed, err := capture(ctx, q.at, []string{host.Self, "absent", "--congestion", q.name})
			if ctx.Err() != nil || errors.Is(err, host.ErrLost) {
				return err
			}
			if err == nil && strings.TrimSpace(string(printed)) == q.name {
				wrong = append(wrong, fmt.Sprintf("%s: its kernel does not have the congestion control %s (arm %s, workload %s)",
					q.at.Endpoint().Name, clean.Line(q.name), arm.Name, w.Name))
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was measured:\n  %s\n`sysctl net.ipv4.tcp_available_congestion_control` on the host lists "+
		"those that are loaded", strings.Join(wrong, "\n  "))
}
