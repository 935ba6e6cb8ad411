package cli

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
)

// refuseCongestion refuses congestion controls that this kernel does not have, for the arms of a lab, whose hosts are
// on this machine. has asks the kernel, which also loads a module for it.
func refuseCongestion(e *experiment.Experiment, has func(name string) bool) error {
	var wrong, asked []string
	for cell := range e.Cells().All() {
		w, name := cell.Workload, cell.Workload.Congestion
		if arm, _ := e.Arm(cell.Arm); arm.Lab == nil || name == "" || slices.Contains(asked, name) || w.Optional {
			continue
		}
		if asked = append(asked, name); !has(name) {
			wrong = append(wrong, fmt.Sprintf("congestion %s (arm %s, workload %s): this kernel does not have it",
				clean.Line(name), cell.Arm, w.Name))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was measured:\n  %s\n"+
		"`sysctl net.ipv4.tcp_available_congestion_control` lists those that are loaded", strings.Join(wrong, "\n  "))
}
