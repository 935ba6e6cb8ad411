package answer

import (
	"slices"
	"strings"

	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
)

// Make answers the experiment's question from the existing trials; some may have failed or be missing.
func Make(in Input) Answer {
	in = in.unwatched()
	in.groups = groupsOf(in.Trials)
	run, measured := in.measured(), in.figured()
	tables := figures.Tables(measured)
	made, warnings := figures.Of(measured, tables)
	a := Answer{
		Nearfar: "v1", Question: in.Experiment.Question, Ran: ranOf(in), Figures: made,
		Environment: environment.Of(run), Proofs: proof.All(in.Experiment, in.Trials), Hosts: environment.Seen(run),
		Noise: Noise{Earlier: in.Earlier},
	}
	a.MarkUnproved(in.Experiment, a.Proof, tables)
	a.Dependence = figures.DependTogether(measured, tables)
	a.Warnings = slices.Concat([]Warning{}, // never null in JSON
		runWarnings(in, a, tables), dependent(a.Dependence, a.Comparisons), warnings, in.Warnings, unlike(in, tables))
	if in.Experiment.SelfComparison != nil {
		a.NoiseFloor = noiseFloor(in, a.Comparisons, tables)
		a.Warnings = append(a.Warnings, a.NoiseFloor.warnings(in, a.Comparisons)...)
	}
	a.SetProtocols(protocolsOf(in.Trials))
	a.setMeaning(measured, tables)
	a.Conclude(nil, func(a Answer) Statement {
		headlineIntervals(in, a.Findings, tables)
		statement := verdict(in.Experiment, a)
		statement.Also = joined(statement.Also, a.meaningText())
		statement.Basis = joined(statement.Basis, strings.TrimSpace(assumesText(a)), strings.TrimSpace(in.looksText(a)))
		return statement
	})
	return a
}

// ranOf says what was planned, and what ran of it.
func ranOf(in Input) Ran {
	e := in.Experiment
	ran := Ran{
		Run: in.Run, State: in.State, Baseline: e.Baseline, AskedAbout: e.AskedAbout, Imported: e.Imported,
		Paired: e.Paired, Blocks: in.blocksRun(), Trials: len(in.Trials), AnyTime: in.anyTime(),
		Deployments: e.Schedule.Deployments, Failing: failing(e, in.Trials), Settings: settingsOf(e),
		Workloads: measuredOf(in),
	}
	replaced := replacedPlaces(in.Trials)
	for _, t := range in.Trials {
		if t.Error != "" {
			ran.Failed++
			if replaced[scheduledOf(t)] {
				ran.Replaced++
			}
		}
	}
	return ran
}

// list joins names with commas.
func list(names []string) string { return strings.Join(names, ", ") }
