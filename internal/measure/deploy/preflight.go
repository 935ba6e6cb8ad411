package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// Preflight checks the hosts that the file names before anything is measured: that the traffic of the arms gets
// through, and that the hosts' disks have room. The error lists all problems. Preflight also notes how busy the hosts
// are and what their clocks show (see Facts), and warns of what can distort figures. Labs need no such checks.
func (d *Deployment) Preflight(ctx context.Context, traffic []host.Traffic) error {
	var problems []string
	for _, k := range d.kinds {
		problems = append(problems, k.preflight(ctx, d.experiment, traffic)...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New("the hosts are not ready, and nothing was measured:\n  " + strings.Join(problems, "\n  "))
}

// minFree is how many bytes must be free on the disk of an agent's folder. The agent keeps the output of all processes
// of a trial there.
const minFree = 100 << 20

// preflight checks all hosts at the same time. The problems are sorted by the hosts' names.
func (k *given) preflight(ctx context.Context, e *experiment.Experiment, traffic []host.Traffic) []string {
	k.options.Step("checking the hosts: ports, disks, clocks")
	defer waiting(k.options.Step, "the answers of %s", strings.Join(slices.Sorted(maps.Keys(k.clients)), ", "))()
	problems := k.checkMachines(ctx, k.options.Step)
	// After the loads were read, because this makes some itself.
	sides := map[string]Sides{}
	for _, arm := range e.Arms {
		if arm.Client != "" && arm.Server != "" {
			sides[arm.Name] = Sides{arm.Client, arm.Server}
		}
	}
	problems = append(problems, k.checkPorts(ctx, sides, traffic)...)
	k.sayUnlimited(k.options.Step)
	return problems
}

// checkMachines checks the disks, notes the clocks and loads, and warns of what can distort figures. The problems are
// sorted by the hosts' names.
func (k *fleet) checkMachines(ctx context.Context, step func(format string, args ...any)) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(k.clients)) {
		if problem := diskProblem(name, k.clients[name].Known()); problem != "" {
			problems = append(problems, problem)
		}
	}
	k.clocks = answers(ctx, k.clients, (*agent.Client).Clock)
	k.loads = answers(ctx, k.clients, (*agent.Client).Load)
	for _, w := range stateWarnings(k.states(), k.known()) {
		step("warning: %s", w.Message) // the answer has the warning too
	}
	return problems
}

// diskProblem is empty if the disk of the agent's folder has room, or is not known to have none.
func diskProblem(name string, f agent.Facts) string {
	if f.Free >= minFree || f.Free == 0 && f.System.OS != "linux" {
		return ""
	}
	return fmt.Sprintf("%s: %.1f MB are free on the disk of the agent's folder, and at least %d MB are needed: free "+
		"some, or set 'folder:' of the host to a folder on another disk", name, float64(f.Free)/(1<<20), minFree>>20)
}

// known are the facts of all hosts.
func (k *fleet) known() map[string]agent.Facts {
	all := map[string]agent.Facts{}
	for name, c := range k.clients {
		all[name] = c.Known()
	}
	return all
}
