package experiment

import "fmt"

// Only gives the experiment of one arm and one workload of e, with so many trials: what a bisection measures at each
// step. The workload has the values that the arm sets. Comparisons, objectives and twins are left out.
func (e *Experiment) Only(arm, workload string, trials int) (*Experiment, error) {
	e = e.Unwatched()
	a, ok := e.Arm(arm)
	if !ok {
		return nil, fmt.Errorf("there is no arm %s", quote(arm))
	}
	w, ok := e.WorkloadIn(arm, workload)
	if !ok {
		return nil, fmt.Errorf("there is no workload %s", quote(workload))
	}
	out := *e
	out.Question, out.Baseline, out.AskedAbout = "", arm, ""
	out.Objectives, out.ObjectivesAt, out.SelfComparison = nil, nil, nil
	out.Schedule.Blocks, out.Schedule.BaselineRepeats = trials, 1
	out.Schedule.Deployments, out.Schedule.Until = 0, ""
	a.Set, a.Workloads, a.HostsFrom = nil, nil, ""
	out.Arms, out.Workloads, out.Hosts = []Arm{a}, []Workload{w}, nil
	for _, h := range e.Hosts {
		if h.Name == a.Client || h.Name == a.Server {
			out.Hosts = append(out.Hosts, h)
		}
	}
	return &out, out.Check()
}
