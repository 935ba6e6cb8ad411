package figures

import (
	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Run is what is read of a run.
type Run struct {
	Experiment *experiment.Experiment
	Trials     []result.Trial
	// Skipped are the workloads that could not run, with the reason.
	Skipped map[string]string
	// AnyTime says that somebody may have looked at the trials before the run ended, and stopped it for what they saw.
	AnyTime bool
	// Resolve is the difference that the user asks about; nil for none.
	Resolve *Aim
}

// Figures are the numbers of an answer.
type Figures struct {
	// Averages says which average each kind of figure is.
	Averages    Averages     `json:"averages"`
	Arms        []Figure     `json:"arms"`
	Comparisons []Comparison `json:"comparisons"`
	// Failures says how often the arms failed; null if nothing was tried.
	Failures *Failures  `json:"failures,omitempty"`
	Layers   []Layer    `json:"layers"`
	Residual []Residual `json:"residual"`
	// Additivity has a test for each quantity whose layers could fail to add up.
	Additivity []Additivity `json:"additivity,omitempty"`
}

// Averages says how figures are averaged: by medians, which tolerate outliers and trials without a figure, and by
// means where figures have to add up.
type Averages struct {
	Arms        string `json:"arms"`
	Comparisons string `json:"comparisons"`
	Layers      string `json:"layers"`
}

// AveragesOf gives the averages of an answer whose trials are paired within blocks, or not.
func AveragesOf(paired bool) Averages {
	a := Averages{
		Arms: "median over trials", Comparisons: "median of paired differences",
		Layers: "mean, by least squares, with wild trials moved closer; the median of the comparison if a layer names an arm",
	}
	if !paired {
		a.Comparisons = "median of all differences between a trial of the arm and a trial of the baseline"
	}
	return a
}

// overDeployments says which averages are of deployments.
func (a *Averages) overDeployments() {
	a.Arms = "mean of the deployments' medians over trials; their median from 6 deployments on"
	a.Comparisons = "mean of the deployments' medians of paired differences"
	a.Layers = "mean over the deployments, by least squares in each; the comparison's if a layer names an arm"
}

// Of makes the figures, differences and costs of layers, and warnings about the layers.
func Of(in Run, tables []Cells) (Figures, []result.Warning) {
	f := Figures{
		Averages: AveragesOf(!in.Experiment.Unpaired()), Arms: []Figure{}, Comparisons: CompareArms(in, tables),
		Failures: failuresOf(in), Layers: []Layer{}, Residual: []Residual{},
	}
	if Deployed(in.Experiment) {
		f.Averages.overDeployments()
	}
	var warnings []result.Warning
	var estimates []stats.Cost
	var arms [][]alone
	for _, c := range tables {
		f.Arms = append(f.Arms, ofArms(in.Experiment, c)...)
		part := attribute(in.Experiment, c, f.Comparisons)
		f.Layers, estimates = append(f.Layers, part.layers...), append(estimates, part.estimates...)
		arms = append(arms, part.alone...)
		f.Residual = append(f.Residual, part.residual...)
		f.Additivity = append(f.Additivity, part.additivity...)
		warnings = append(warnings, part.warnings...)
	}
	judgeLayers(f.Layers, estimates)
	warnings = append(warnings, f.against(arms)...)
	if in.AnyTime {
		warnings = f.holdAtAnyTime(in, warnings)
	}
	return f, warnings
}

// PointerOf converts a quantity; an unknown one becomes null.
func PointerOf(q stats.Quantity) *float64 {
	if !q.Known {
		return nil
	}
	return new(q.Value)
}
