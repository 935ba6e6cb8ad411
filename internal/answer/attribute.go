package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// attribute says what each layer adds. Only times are taken apart: what layers do to a rate does not add up.
func attribute(e *experiment.Experiment, c cells) ([]Layer, []Residual, []Warning) {
	if !c.primary || c.quantity.Unit != result.Seconds || len(e.Arms) < 2 {
		return nil, nil, nil
	}
	design := designOf(e, c)
	if len(design.Layers) == 0 {
		return nil, nil, nil
	}
	var trials []stats.Trial
	for _, arm := range e.Arms {
		for _, v := range c.values(arm.Name) {
			trials = append(trials, stats.Trial{Arm: arm.Name, Block: v.Block, Value: v.Value})
		}
	}
	s := stats.Attribute(design, e.Baseline, trials)
	return costs(c, s), residuals(c, s), append(refusals(c, s), remainder(e.Baseline, c, s)...)
}

// designOf lists how often each arm that has trials crosses each layer.
func designOf(e *experiment.Experiment, c cells) stats.Design {
	var d stats.Design
	for _, arm := range e.Arms {
		for name := range arm.Layers {
			if !slices.Contains(d.Layers, name) {
				d.Layers = append(d.Layers, name)
			}
		}
	}
	slices.SortFunc(d.Layers, func(a, b string) int { return strings.Compare(pathOrder(a), pathOrder(b)) })
	for _, arm := range e.Arms {
		if len(c.byArm[arm.Name]) == 0 {
			continue
		}
		counts := make([]float64, len(d.Layers))
		for i, layer := range d.Layers {
			counts[i] = float64(arm.Layers[layer])
		}
		d.Arms = append(d.Arms, arm.Name)
		d.Counts = append(d.Counts, counts)
	}
	return d
}

// pathOrder sorts layers from the plainest element to the most elaborate, and others by name after them.
func pathOrder(layer string) string {
	order := []string{experiment.Wire, experiment.Bridge, experiment.Router, experiment.VTEP, experiment.DLR, experiment.Firewall}
	kind, _, _ := strings.Cut(layer, "(")
	if i := slices.Index(order, kind); i >= 0 {
		return fmt.Sprintf("%d%s", i, layer)
	}
	return "9" + layer
}

func costs(c cells, s stats.Attribution) []Layer {
	var layers []Layer
	for i, cost := range s.Costs {
		if !cost.Cost.Known {
			continue
		}
		l := Layer{
			Layer: cost.Term.Name, Workload: c.workload, Quantity: c.quantity,
			Cost: cost.Cost.Value, Interval: interval(cost.Interval), Adds: []Contribution{},
		}
		for _, parts := range s.Arms {
			if i < len(parts.Terms) && parts.Terms[i] != 0 && cost.Cost.Value != 0 {
				l.Adds = append(l.Adds, Contribution{Arm: parts.Arm, Count: parts.Terms[i] / cost.Cost.Value, Adds: parts.Terms[i]})
			}
		}
		layers = append(layers, l)
	}
	return layers
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
		Interval: interval(p.ResidualInterval), Saturated: p.ByConstruction,
	}}
}

// refusals says what the design cannot tell apart, and which arm is missing.
func refusals(c cells, s stats.Attribution) []Warning {
	var warnings []Warning
	for _, set := range s.Separation.Inseparable {
		warnings = append(warnings, Warning{
			Code: "layers-not-separable", Workload: c.workload,
			Message: fmt.Sprintf("these arms cannot tell %s apart; missing: %s", strings.Join(set.Layers, " and "), set.Missing),
		})
	}
	switch s.Reason {
	case stats.ReasonUnbalanced:
		warnings = append(warnings, Warning{Code: "layers-not-separable", Workload: c.workload,
			Message: "so many trials failed that the layers cannot be told apart"})
	}
	return warnings
}

// notableResidual is the smallest residual that is warned of, relative to the difference that is taken apart: with several
// arms, one of their intervals misses 0 by chance more often than once in twenty.
const notableResidual = 0.05

// remainder warns where the costs of the layers do not add up to an arm: layers then act on each other, and the cost of one
// depends on what else is there. The arm that is furthest off speaks for all.
func remainder(baseline string, c cells, s stats.Attribution) []Warning {
	var worst *stats.Parts
	for i, p := range s.Arms {
		if !p.Residual.Known || p.ByConstruction || !p.ResidualInterval.Known || p.ResidualInterval.Contains(0) {
			continue
		}
		if math.Abs(p.Residual.Value) < notableResidual*math.Abs(p.Whole.Value) {
			continue
		}
		if worst == nil || math.Abs(p.Residual.Value) > math.Abs(worst.Residual.Value) {
			worst = &s.Arms[i]
		}
	}
	if worst == nil {
		return nil
	}
	scale := result.ScaleOf(c.quantity.Unit, worst.Residual.Value)
	return []Warning{{
		Code: "layers-do-not-add-up", Arm: worst.Arm, Workload: c.workload,
		Message: fmt.Sprintf("the layers' costs leave %s [%s, %s] of the difference from %s (%s) unexplained: layers act on each other, and a cost is an average over these arms",
			scale.With(scale.Signed(worst.Residual.Value)), scale.Signed(worst.ResidualInterval.Low), scale.Signed(worst.ResidualInterval.High),
			baseline, result.SignedAmount(worst.Whole.Value, c.quantity.Unit)),
	}}
}
