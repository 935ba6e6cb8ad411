package answer

import (
	"cmp"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// measuredOf describes the workloads of a run.
func measuredOf(in Input) []Measured {
	var all []Measured
	for _, w := range in.Experiment.Workloads {
		m := Measured{Workload: w.Name, Question: w.Question, Mode: w.Mode, Rate: w.OfferedRate,
			Waited: in.measured().Waited(w.Name)}
		for _, arm := range in.Experiment.Arms {
			if own, ok := in.Experiment.WorkloadIn(arm.Name, w.Name); ok && own.OfferedRate != m.Rate {
				m.Rate = 0
			}
		}
		if m.Mode == "" {
			m.Mode = ModeOf(slices.DeleteFunc(slices.Clone(in.Trials), func(t result.Trial) bool {
				return t.Workload != w.Name
			}))
		}
		all = append(all, m)
	}
	return all
}

// ModeOf is the mode of trials; empty if they have several.
func ModeOf(trials []result.Trial) string {
	if modes := figures.Distinct(trials, func(t result.Trial) string { return t.Mode }); len(modes) == 1 {
		return modes[0]
	}
	return ""
}

// ProtocolOf is the protocol of trials as it is written in reports; empty if they have several.
func ProtocolOf(trials []result.Trial) string {
	if all := figures.Distinct(trials, func(t result.Trial) string { return t.Protocol }); len(all) == 1 {
		return strings.ToUpper(all[0])
	}
	return ""
}

// protocolsOf gives the protocol of an arm's good trials in a workload.
func protocolsOf(trials []result.Trial) func(side, arm, workload string) string {
	by := map[[2]string][]result.Trial{}
	for _, t := range trials {
		if t.Error == "" {
			by[[2]string{t.Arm, t.Workload}] = append(by[[2]string{t.Arm, t.Workload}], t)
		}
	}
	return func(_, arm, workload string) string { return ProtocolOf(by[[2]string{arm, workload}]) }
}

// SetProtocols says beside each figure and comparison which protocols it is about, if an arm has another one than its
// baseline. Else a workload that stays with TCP in an arm that sets UDP reads as a comparison of UDP with TCP. of gives
// the protocol of an arm of a side in a workload.
func (a *Answer) SetProtocols(of func(side, arm, workload string) string) {
	var sides [2]string
	if len(a.Sources) == 2 {
		sides = [2]string{a.Sources[0].Side, a.Sources[1].Side}
	}
	protocols := func(c figures.Comparison) (arm, baseline string) {
		return of(sides[1], c.Arm, c.Workload), of(sides[0], c.Baseline, cmp.Or(c.BaselineWorkload, c.Workload))
	}
	if !slices.ContainsFunc(a.Comparisons, func(c figures.Comparison) bool {
		arm, baseline := protocols(c)
		return arm != baseline && arm != "" && baseline != ""
	}) {
		return
	}
	for i := range a.Arms {
		f := &a.Arms[i]
		f.Over = of(f.Side, f.Arm, f.Workload)
	}
	for i := range a.Comparisons {
		c := &a.Comparisons[i]
		switch arm, baseline := protocols(*c); {
		case arm == baseline:
			c.Over = arm
		case arm != "" && baseline != "":
			c.Over = arm + acrossProtocols + baseline
		}
	}
}

// acrossProtocols stands between the protocols of a comparison of two.
const acrossProtocols = " against "
