package answer

import (
	"fmt"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// trialWarnings says what the trials themselves show: too few blocks, drift, blocks that stand out, arms with two modes.
// Shape and drift are judged on each workload's first quantity, so that one cause is said once.
func trialWarnings(e *experiment.Experiment, tables []cells) []Warning {
	var warnings []Warning
	if w, ok := stats.TooFewBlocks(fewestBlocks(e, tables)); ok && len(e.Arms) > 1 && len(tables) > 0 && !e.Unpaired() {
		warnings = append(warnings, Warning{Code: w.Code, Message: fmt.Sprintf(
			"with %.0f blocks no difference can be found in a table of %.0f comparisons; it takes %.0f",
			w.Facts["blocks"], w.Facts["comparisons"], w.Facts["needed"])})
	}
	for _, c := range tables {
		if !c.primary {
			continue
		}
		if !e.Unpaired() { // else there are no blocks
			warnings = append(warnings, overBlocks(e, c)...)
		}
		warnings = append(warnings, shapes(e, c)...)
	}
	return warnings
}

// fewestBlocks gives the smallest number of pairs of any comparison, and how many comparisons there are.
func fewestBlocks(e *experiment.Experiment, tables []cells) (blocks, comparisons int) {
	blocks = e.Schedule.Blocks
	for _, c := range tables {
		if c.beside {
			continue
		}
		for _, arm := range e.Arms {
			if n := len(c.byArm[arm.Name]); n > 0 {
				blocks = min(blocks, n)
			}
		}
		comparisons += len(e.Arms) - 1
	}
	return blocks, comparisons
}

// overBlocks warns of drift and of single blocks that lie apart.
func overBlocks(e *experiment.Experiment, c cells) []Warning {
	var trials []stats.Trial
	var baseline []float64
	for _, arm := range e.Arms {
		for _, v := range c.values(arm.Name) {
			trials = append(trials, stats.Trial{Arm: arm.Name, Block: v.Block, Value: v.Value})
			if arm.Name == e.Baseline {
				baseline = append(baseline, v.Value)
			}
		}
	}
	level := stats.Summarize(baseline).Median.Value
	effects := stats.BlockEffects(trials)
	var warnings []Warning
	if w, ok := stats.Drift(effects, level); ok {
		warnings = append(warnings, Warning{Code: w.Code, Workload: c.workload, Message: fmt.Sprintf(
			"%s changed by %s (%+.0f %%) from the first block to the last, in all arms; pairing within blocks takes it out of the differences",
			c.quantity.Name(), result.SignedAmount(w.Facts["change"], c.quantity.Unit), 100*w.Facts["relative"])})
	}
	for _, w := range stats.OutlierBlocks(effects, level) {
		warnings = append(warnings, Warning{Code: w.Code, Workload: c.workload, Message: fmt.Sprintf(
			"block %.0f lies %s (%+.0f %%) from the others in %s", w.Facts["block"],
			result.SignedAmount(w.Facts["effect"], c.quantity.Unit), 100*w.Facts["relative"], c.quantity.Name())})
	}
	return warnings
}

// shapes warns of arms whose trials fall into two groups, or do not vary at all.
func shapes(e *experiment.Experiment, c cells) []Warning {
	var warnings []Warning
	for _, arm := range e.Arms {
		var values []float64
		for _, v := range c.values(arm.Name) {
			values = append(values, v.Value)
		}
		if w, ok := stats.Bimodal(values); ok {
			warnings = append(warnings, Warning{Code: w.Code, Arm: arm.Name, Workload: c.workload, Message: fmt.Sprintf(
				"the trials fall into two groups: %.0f around %s and %.0f around %s", w.Facts["below"],
				result.Amount(w.Facts["low"], c.quantity.Unit), w.Facts["above"], result.Amount(w.Facts["high"], c.quantity.Unit))})
		}
		if w, ok := stats.ZeroSpread(values); ok {
			warnings = append(warnings, Warning{Code: w.Code, Arm: arm.Name, Workload: c.workload, Message: fmt.Sprintf(
				"all %.0f trials gave the same %s: the tool rounds more coarsely than the trials differ", w.Facts["trials"], c.quantity.Name())})
		}
	}
	return warnings
}
