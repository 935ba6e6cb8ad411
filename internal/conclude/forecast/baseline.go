package forecast

import (
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
)

// maxListed bounds how many entries of a folder are looked at in search of a baseline.
const maxListed = 10_000

// Baseline finds the newest complete baseline of the plan's hosts in the folder of runs, preferably of the plan's own
// baseline arm. It returns nil if there is none. machine is the name of this machine. skipped is told the directories
// that are skipped because they are damaged.
func Baseline(
	folder string, plan *experiment.Experiment, machine string, skipped func(path string, err error),
) *answer.Earlier {
	if plan.SelfComparison != nil {
		return nil
	}
	var other *answer.Earlier // the newest one of another arm's hosts
	for _, path := range newest(folder, experiment.SelfSuffix, maxListed) {
		earlier, err := readBaseline(path, plan, machine)
		if err != nil {
			skipped(path, err)
			continue
		}
		switch {
		case earlier == nil:
		case earlier.Arm == plan.Baseline:
			return earlier
		case other == nil:
			other = earlier
		}
	}
	return other
}

// readBaseline reads a baseline of the hosts of a plan; nil if the run is not a complete baseline of them. Its error
// says what is damaged.
func readBaseline(path string, plan *experiment.Experiment, machine string) (*answer.Earlier, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	m := dir.Manifest()
	self := m.Experiment.SelfComparison
	if self == nil || m.State != rundir.Complete {
		return nil, nil
	}
	arm := armOn(plan, machine, m.Experiment.HostsIdentity(self.Arm, m.Machine))
	if arm == "" {
		return nil, nil
	}
	in, err := inputOf(dir)
	if err != nil {
		return nil, err
	}
	return answer.EarlierFloor(in, path, m.Started, plan, arm), nil
}

// armOn is the plan's arm on the hosts with this identity, preferably its baseline; empty if there is none.
func armOn(plan *experiment.Experiment, machine, identity string) string {
	for _, name := range append([]string{plan.Baseline}, plan.ArmNames()...) {
		if _, ok := plan.Arm(name); ok && plan.HostsIdentity(name, machine) == identity {
			return name
		}
	}
	return ""
}
