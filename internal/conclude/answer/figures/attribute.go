package figures

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Residual is the part of the difference between the fullest arm and the baseline that the layers do not explain.
type Residual struct {
	Workload string `json:"workload"`
	Quantity
	Arm string `json:"arm"`
	// Whole is the measured difference of that arm from the baseline; Parts is the sum of the layers.
	Whole    float64  `json:"whole"`
	Parts    float64  `json:"parts"`
	Value    float64  `json:"value"`
	Interval Interval `json:"interval"`
	// Saturated says that the residual is zero for any data: there are as many unknowns as arms, or least squares
	// fits the difference of these two arms exactly.
	Saturated bool `json:"saturated"`
	// Additive is the Additive of the layers, for all arms: another arm can deviate although this one does not.
	Additive *bool `json:"additive"`
	// Missing is how many good trials lack the quantity, and are not in these figures.
	Missing int `json:"missing,omitempty"`
}

// attributed is the result for the layers of one quantity.
type attributed struct {
	layers     []Layer
	estimates  []stats.Cost // of the layers
	alone      [][]alone    // of the layers
	residual   []Residual
	additivity []Additivity
	warnings   []result.Warning
}

// attribute estimates what each layer adds. It handles times only: the effects of layers on a rate do not add up.
func attribute(e *experiment.Experiment, c Cells, comparisons []Comparison) attributed {
	if !c.Primary || c.Quantity.Unit != result.Seconds || len(e.Arms) < 2 {
		return attributed{}
	}
	design := designOf(e, c)
	if len(design.Layers) == 0 {
		return attributed{}
	}
	s := stats.Attribute(design, e.Baseline, c.SingleTrials(e))
	if Deployed(e) {
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

// designOf lists how often each arm with trials crosses each layer.
func designOf(e *experiment.Experiment, c Cells) stats.Design {
	crosses := e.LayersIn(c.Workload)
	d := stats.Design{Layers: namesOf(crosses...)}
	for k, arm := range e.Arms {
		if len(c.ByArm[arm.Name]) == 0 {
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

func residuals(c Cells, s stats.Attribution) []Residual {
	if s.Fullest < 0 || s.Reason != "" {
		return nil
	}
	p := s.Arms[s.Fullest]
	if !p.Whole.Known || !p.Residual.Known {
		return nil
	}
	return []Residual{{
		Workload: c.Workload, Quantity: c.Quantity, Arm: p.Arm,
		Whole: p.Whole.Value, Parts: p.Whole.Value - p.Residual.Value, Value: p.Residual.Value,
		Interval: IntervalOf(p.ResidualInterval), Saturated: p.ByConstruction,
	}}
}

// refusals warns of layers that the design cannot tell apart, and names the missing arm.
func refusals(c Cells, s stats.Attribution) []result.Warning {
	var warnings []result.Warning
	for _, set := range s.Separation.Inseparable {
		warnings = append(warnings, result.Warning{
			Code: "layers-not-separable", Workload: c.Workload,
			Message: fmt.Sprintf("these arms cannot tell %s apart; missing: %s",
				strings.Join(set.Layers, " and "), set.Missing),
		})
	}
	switch s.Reason {
	case stats.ReasonUnbalanced:
		warnings = append(warnings, result.Warning{Code: "layers-not-separable", Workload: c.Workload,
			Message: "so many trials failed that the layers cannot be told apart"})
	}
	return warnings
}
