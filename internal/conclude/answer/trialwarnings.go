package answer

import (
	"fmt"
	"math"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// trialWarnings warns of what the trials show: too few blocks, drift, outlier blocks, arms with two modes. Only each
// workload's first quantity is checked for modes and drift, so that one cause gives one warning.
func trialWarnings(e *experiment.Experiment, tables []figures.Cells) []Warning {
	var warnings []Warning
	if figures.Deployed(e) {
		for _, c := range tables {
			if c.Primary {
				warnings = append(warnings, modes(e, c)...)
			}
		}
		return warnings // a change between deployments is part of their scatter, and no drift
	}
	blocks, comparisons := fewestBlocks(e, tables)
	needed := stats.MinBlocks(comparisons, stats.Alpha)
	if blocks < needed && len(e.Arms) > 1 && len(tables) > 0 && !e.Unpaired() {
		warnings = append(warnings, Warning{Code: "too-few-blocks", Message: fmt.Sprintf(
			"with %d blocks no difference can be found in a family of %d comparisons; it takes %d", blocks, comparisons,
			needed)})
	}
	for _, c := range tables {
		if !c.Primary {
			continue
		}
		if !e.Unpaired() { // unpaired trials have no blocks
			warnings = append(warnings, overBlocks(e, c)...)
		}
		warnings = append(warnings, modes(e, c)...)
	}
	return warnings
}

// fewestBlocks gives the smallest number of pairs in any comparison, and the number of comparisons in a family.
func fewestBlocks(e *experiment.Experiment, tables []figures.Cells) (blocks, comparisons int) {
	blocks = e.Schedule.Blocks
	for _, c := range tables {
		if c.ReportOnly {
			continue
		}
		for _, arm := range e.Arms {
			if n := len(c.Ranked(arm.Name)); n > 0 {
				blocks = min(blocks, n)
			}
		}
		comparisons = len(e.Arms) - 1
	}
	return blocks, comparisons
}

// overBlocks warns of drift and of outlier blocks.
func overBlocks(e *experiment.Experiment, c figures.Cells) []Warning {
	var trials []stats.Trial
	var baseline []float64
	for _, arm := range e.Arms {
		for _, v := range c.Values(arm.Name) {
			trials = append(trials, stats.Trial{Arm: arm.Name, Block: v.Block, Value: v.Value})
			if arm.Name == e.Baseline {
				baseline = append(baseline, v.Value)
			}
		}
	}
	level := stats.Summarize(baseline).Median.Value
	warnings := drifts(e, c, trials)
	for _, w := range stats.OutlierBlocks(stats.BlockEffects(trials), level) {
		warnings = append(warnings, Warning{Code: w.Code, Workload: c.Workload, Message: fmt.Sprintf(
			"block %.0f lies %s (%s) from the others in %s", w.Facts["block"],
			result.SignedAmount(w.Facts["effect"], c.Quantity.Unit), signedShare(w.Facts["relative"]),
			c.Quantity.Name())})
	}
	return append(warnings, scatters(e, c)...)
}

// signedShare writes a ratio as a percentage with a sign.
func signedShare(ratio float64) string {
	text := result.Decimal(100*ratio, 0)
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text + " %"
}

// scatters warns of arms whose trials scatter more, or less, than those of the baseline: the comparisons are of
// medians, and do not show it.
func scatters(e *experiment.Experiment, c figures.Cells) []Warning {
	var warnings []Warning
	// Single trials: the median of several trials of the baseline would scatter less.
	for _, d := range stats.FindScatterDifferences(c.SingleTrials(e), e.Baseline) {
		ratio, than := d.Ratio, "%s scatters %s times as much as %s"
		if ratio < 1 {
			ratio, than = 1/ratio, "%s scatters %s times less than %s"
		}
		warnings = append(warnings, Warning{Code: stats.CodeScatterDiffers, Arm: d.Arm, Workload: c.Workload,
			Message: fmt.Sprintf(than+" from trial to trial in %s (p = %.2g); the differences are of medians, and do "+
				"not show it", d.Arm, result.Decimal(ratio, 1), e.Baseline, c.Quantity.Name(), d.PValue)})
	}
	return warnings
}

// drifts warns of a drift that the arms share, which pairing removes, and of differences that change during the run.
func drifts(e *experiment.Experiment, c figures.Cells, trials []stats.Trial) []Warning {
	var warnings []Warning
	own := stats.FindArmDrifts(trials, e.Baseline)
	if d, ok := stats.FindCommonDrift(trials); ok {
		way, where, so := "rose", "all arms", "pairing within blocks takes it out of the differences"
		if d.Last < d.First {
			way = "fell"
		}
		if len(d.Others) > 0 {
			where = list(d.Arms) + ", but not clearly in " + list(d.Others)
		}
		if len(d.Others)+len(own) > 0 {
			so = "pairing within blocks takes out what the arms share"
		}
		warnings = append(warnings, Warning{Code: stats.CodeDrift, Workload: c.Workload, Message: fmt.Sprintf(
			"%s %s by %s %% from the first third of the blocks to the last, in %s; %s",
			c.Quantity.Name(), way, result.Decimal(100*math.Abs(d.Relative()), 0), where, so)})
	}
	change := func(d stats.ArmDrift) string {
		return fmt.Sprintf("from %s in the first third of the blocks to %s in the last",
			result.SignedAmount(d.First, c.Quantity.Unit), result.SignedAmount(d.Last, c.Quantity.Unit))
	}
	if len(own) > 1 && len(own) == len(e.Arms)-1 {
		var all []string
		for _, d := range own {
			all = append(all, d.Arm+" "+change(d))
		}
		return append(warnings, Warning{Code: stats.CodeArmDrift, Arm: e.Baseline,
			Workload: c.Workload, Message: fmt.Sprintf(
				"every difference from %s in %s changes during the run, and is an average over it: %s", e.Baseline,
				c.Quantity.Name(), list(all))})
	}
	for _, d := range own {
		warnings = append(warnings, Warning{Code: stats.CodeArmDrift, Arm: d.Arm,
			Workload: c.Workload, Message: fmt.Sprintf(
				"the difference from %s in %s changes during the run, and is an average over it: %s", e.Baseline,
				c.Quantity.Name(), change(d))})
	}
	return warnings
}

// modes warns of arms whose trials fall into two groups, or do not vary at all.
func modes(e *experiment.Experiment, c figures.Cells) []Warning {
	var warnings []Warning
	for _, arm := range e.Arms {
		values := stats.Numbers(c.Values(arm.Name))
		if w, ok := stats.Bimodal(values); ok {
			warnings = append(warnings, Warning{Code: w.Code, Arm: arm.Name, Workload: c.Workload, Message: fmt.Sprintf(
				"the trials fall into two groups: %.0f around %s and %.0f around %s", w.Facts["below"],
				result.Amount(w.Facts["low"], c.Quantity.Unit), w.Facts["above"],
				result.Amount(w.Facts["high"], c.Quantity.Unit))})
		}
		if w, ok := stats.ZeroSpread(values); ok {
			warnings = append(warnings, Warning{Code: w.Code, Arm: arm.Name, Workload: c.Workload, Message: fmt.Sprintf(
				"all %.0f trials gave the same %s: the tool rounds more coarsely than the trials differ",
				w.Facts["trials"], c.Quantity.Name())})
		}
	}
	return warnings
}
