package answer

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// attributed is the result for the layers of one quantity.
type attributed struct {
	layers     []Layer
	estimates  []stats.Cost // of the layers
	alone      [][]alone    // of the layers
	residual   []Residual
	additivity []Additivity
	warnings   []Warning
}

// attribute estimates what each layer adds. It handles times only: the effects of layers on a rate do not add up.
func attribute(e *experiment.Experiment, c cells, comparisons []Comparison) attributed {
	if !c.primary || c.quantity.Unit != result.Seconds || len(e.Arms) < 2 {
		return attributed{}
	}
	design := designOf(e, c)
	if len(design.Layers) == 0 {
		return attributed{}
	}
	s := stats.Attribute(design, e.Baseline, c.singleTrials(e))
	if deployed(e) {
		s = stats.AttributeDeployments(design, e.Baseline, c.trialsOfDeployments(e), s)
	}
	part := attributed{residual: residuals(c, s), additivity: additivity(e, c, s)}
	part.warnings = append(refusals(c, s), remainder(part.additivity)...)
	part.layers, part.estimates, part.alone = costs(c, s, comparisons)
	for _, test := range part.additivity {
		for i := range part.layers {
			part.layers[i].Additive = &test.Additive
		}
		for i := range part.residual {
			part.residual[i].Additive = &test.Additive
		}
	}
	if left, n := layersLeaveOut(e, c); n > 0 && len(part.layers) > 0 {
		part.warnings = append(part.warnings, left)
		for i := range part.layers {
			part.layers[i].Missing = n
		}
		for i := range part.residual {
			part.residual[i].Missing = n
		}
	}
	return part
}

// singleTrials are the trials of all arms. Of the baseline there can be several in a block.
func (c cells) singleTrials(e *experiment.Experiment) (trials []stats.Trial) {
	for _, arm := range e.Arms {
		for _, t := range c.byArm[arm.Name] {
			trials = append(trials, stats.Trial{Arm: arm.Name, Block: t.Block, Value: c.value(t)})
		}
	}
	return trials
}

// designOf lists how often each arm with trials crosses each layer.
func designOf(e *experiment.Experiment, c cells) stats.Design {
	crosses := e.LayersIn(c.workload)
	d := stats.Design{Layers: namesOf(crosses...)}
	for k, arm := range e.Arms {
		if len(c.byArm[arm.Name]) == 0 {
			continue
		}
		counts := make([]float64, len(d.Layers))
		for i, layer := range d.Layers {
			counts[i] = float64(crosses[k][layer])
		}
		d.Arms = append(d.Arms, arm.Name)
		d.Counts = append(d.Counts, counts)
	}
	return d
}

// byPath compares the names of two layers by pathOrder.
func byPath(a, b string) int { return strings.Compare(pathOrder(a), pathOrder(b)) }

// pathOrder gives a sort key: from the simplest element to the most complex, then other layers by name.
func pathOrder(layer string) string {
	order := []string{experiment.Wire, experiment.Bridge, experiment.Router, experiment.VTEP,
		experiment.DLR, experiment.Firewall}
	kind, _, _ := strings.Cut(layer, "(")
	if i := slices.Index(order, kind); i >= 0 {
		return fmt.Sprintf("%d%s", i, layer)
	}
	return "9" + layer
}

func residuals(c cells, s stats.Attribution) []Residual {
	if s.Fullest < 0 || s.Reason != "" {
		return nil
	}
	p := s.Arms[s.Fullest]
	if !p.Whole.Known || !p.Residual.Known {
		return nil
	}
	return []Residual{{
		Workload: c.workload, Quantity: c.quantity, Arm: p.Arm,
		Whole: p.Whole.Value, Parts: p.Whole.Value - p.Residual.Value, Value: p.Residual.Value,
		Interval: IntervalOf(p.ResidualInterval), Saturated: p.ByConstruction,
	}}
}

// refusals warns of layers that the design cannot tell apart, and names the missing arm.
func refusals(c cells, s stats.Attribution) []Warning {
	var warnings []Warning
	for _, set := range s.Separation.Inseparable {
		warnings = append(warnings, Warning{
			Code: "layers-not-separable", Workload: c.workload,
			Message: fmt.Sprintf("these arms cannot tell %s apart; missing: %s",
				strings.Join(set.Layers, " and "), set.Missing),
		})
	}
	switch s.Reason {
	case stats.ReasonUnbalanced:
		warnings = append(warnings, Warning{Code: "layers-not-separable", Workload: c.workload,
			Message: "so many trials failed that the layers cannot be told apart"})
	}
	return warnings
}
