package answer

import (
	"slices"

	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// group names the trials of a workload in an arm.
type group struct{ arm, workload string }

// groups are the trials by group, in their order. They make the cost of an answer grow as its trials, also if there are
// many arms and workloads.
type groups map[group][]*result.Trial

func groupsOf(trials []result.Trial) groups {
	all := groups{}
	for i := range trials {
		t := &trials[i]
		g := group{t.Arm, t.Workload}
		all[g] = append(all[g], t)
	}
	return all
}

// group gives the trials of a workload in an arm.
func (in Input) group(arm, workload string) []*result.Trial {
	if in.groups == nil {
		in.groups = groupsOf(in.Trials)
	}
	return in.groups[group{arm, workload}]
}

// good gives the good trials of a workload in an arm.
func (in Input) good(arm, workload string) []*result.Trial {
	return slices.DeleteFunc(slices.Clone(in.group(arm, workload)),
		func(t *result.Trial) bool { return t.Error != "" })
}

// measured is the run as its environment is read from it.
func (in Input) measured() environment.Run {
	return environment.Run{Experiment: in.Experiment, Trials: in.Trials, Hosts: in.Hosts, Good: in.good}
}

// figured is the run as its figures are made from it.
func (in Input) figured() figures.Run {
	return figures.Run{Experiment: in.Experiment, Trials: in.Trials, Skipped: in.Skipped, AnyTime: in.anyTime(),
		Resolve: in.Resolve}
}
