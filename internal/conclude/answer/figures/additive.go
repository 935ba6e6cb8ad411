package figures

import (
	"fmt"
	"math"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Additivity is a test of whether the costs of layers add up to the differences between arms.
type Additivity struct {
	Workload string `json:"workload"`
	Quantity
	// PValue is from one test of whether the layers add up exactly, over all arms, for this quantity alone.
	PValue float64 `json:"p_value"`
	// Additive is false if surely an arm deviates by more than Margin.
	Additive bool `json:"additive"`
	Blocks   int  `json:"blocks"`
	// Fit is "within" if surely no arm deviates by more than Margin, "beyond" if surely one does, and else "unknown".
	// Margin is a share of Whole.
	Fit    string  `json:"fit"`
	Margin float64 `json:"margin"`
	// Whole is the size of the largest difference between an arm and the baseline; null if it may be 0.
	Whole *float64 `json:"whole"`
	// Within is the deviation that surely no arm exceeds, WithinRelative the same as a share of Whole. AtLeast is the
	// deviation that surely some arm exceeds; 0 if perhaps none deviates. Each has 95 % confidence. Null if unknown.
	Within         *float64 `json:"within"`
	WithinRelative *float64 `json:"within_relative"`
	AtLeast        *float64 `json:"at_least"`
	// Text says it in words: "the layers add up to within 2.3 % (0.13 us)".
	Text string `json:"text"`
	// Arms are the arms that contradict the sum most: one, or several that the design cannot tell apart. By is how
	// far an arm lies above what the layers predict if they are fitted to the other arms.
	Arms []Deviation `json:"arms"`
}

// Deviation says how far an arm lies above the sum of its layers.
type Deviation struct {
	Arm string  `json:"arm"`
	By  float64 `json:"by"`
}

// additivity says how closely the layers add up; empty if the arms cannot tell.
func additivity(e *experiment.Experiment, c Cells, s stats.Attribution) []Additivity {
	if !s.Additivity.PValue.Known {
		return nil
	}
	margin := e.AdditiveMargin()
	fit := s.Additivity.Fit(margin)
	test := Additivity{
		Workload: c.Workload, Quantity: c.Quantity, PValue: s.Additivity.PValue.Value,
		Additive: fit != stats.FitBeyond, Blocks: s.Additivity.Blocks, Arms: []Deviation{},
		Fit: string(fit), Margin: margin, Within: PointerOf(s.Additivity.Within), AtLeast: PointerOf(s.Additivity.AtLeast),
		Whole: PointerOf(s.Additivity.Whole),
	}
	if test.Within != nil && test.Whole != nil {
		test.WithinRelative = new(*test.Within / *test.Whole)
	}
	for _, d := range s.Additivity.Arms {
		test.Arms = append(test.Arms, Deviation{Arm: d.Arm, By: d.By})
	}
	test.Text = test.text()
	return []Additivity{test}
}

// text says how closely the layers add up: "the layers add up to within 2.3 % (0.13 us)".
func (t Additivity) text() string {
	switch {
	case t.Fit == string(stats.FitBeyond):
		return "the layers do not add up: " + t.deviating()
	case t.Within == nil:
		return ""
	}
	text := "the layers add up to within " + t.size(*t.Within)
	if t.WithinRelative != nil && t.Fit == string(stats.FitUnknown) {
		text += "; more blocks would tell whether to within " + result.Share(t.Margin)
	}
	return text
}

// deviating names the arms that contradict the sum most, with how far they lie from it.
func (t Additivity) deviating() string {
	if len(t.Arms) == 1 {
		where := "above"
		if t.Arms[0].By < 0 {
			where = "below"
		}
		return fmt.Sprintf("%s lies %s %s the sum of its layers", t.Arms[0].Arm, t.size(t.Arms[0].By), where)
	}
	var names []string
	most := 0.0
	for _, d := range t.Arms {
		names, most = append(names, d.Arm), math.Max(most, math.Abs(d.By))
	}
	return fmt.Sprintf("one of %s lies %s from the sum of its layers", strings.Join(names, ", "), t.size(most))
}

// size writes the size of a deviation, first as a share of the whole if that is known.
func (t Additivity) size(v float64) string {
	amount := result.Roughly(v, t.Unit)
	if t.Whole == nil {
		return amount
	}
	return result.Share(math.Abs(v) / *t.Whole) + " (" + amount + ")"
}

// remainder warns if the costs of the layers do not add up: layers then influence each other, and the cost of a layer
// depends on the others.
func remainder(tests []Additivity) []result.Warning {
	var warnings []result.Warning
	for _, t := range tests {
		if t.Additive {
			continue
		}
		w := result.Warning{Code: "layers-do-not-add-up", Workload: t.Workload}
		var off []string
		for _, d := range t.Arms {
			off = append(off, d.Arm+" by "+result.SignedAmount(d.By, t.Unit))
		}
		which := ""
		switch len(off) {
		case 0:
			continue
		case 1:
			w.Arm, which = t.Arms[0].Arm, "most of all "+off[0]
		default:
			which = "either " + strings.Join(off[:len(off)-1], ", ") + " or " + off[len(off)-1] +
				", which these arms cannot tell apart"
		}
		w.Message = fmt.Sprintf("the arms' %s is not the sum of what the layers cost (p = %.2g over %d blocks): %s. "+
			"Layers influence each other, and a cost is an average over these arms", t.Name(), t.PValue, t.Blocks, which)
		if t.AtLeast != nil {
			w.Message += fmt.Sprintf(". It is surely at least %s, and the margin is %s of the largest difference",
				result.Amount(*t.AtLeast, t.Unit), result.Share(t.Margin))
		}
		warnings = append(warnings, w)
	}
	return warnings
}
