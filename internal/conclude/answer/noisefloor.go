package answer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// NoiseFloor is what the comparison of an arm with itself says about its hosts.
type NoiseFloor struct {
	// Arm is the arm, Experiment the experiment whose design the differences are for. Comparisons is how many arms it
	// compares with its baseline: they share the 5 % of false alarms.
	Arm         string `json:"arm"`
	Experiment  string `json:"experiment"`
	Comparisons int    `json:"comparisons"`
	// Blocks is the number of blocks of the experiment.
	Blocks int `json:"blocks"`
	// Sound is false if the arm differs from itself, after Holm's correction over all workloads and quantities: by
	// chance in at most 5 % of such runs. Differs lists these comparisons.
	Sound   bool          `json:"sound"`
	Differs []SelfDiffers `json:"differs,omitempty"`
	Figures []Floor       `json:"figures"`
	// Resolve is the wanted difference, as written. Recommended is nil if it has a unit that no workload has, or if
	// nothing says how trials scatter.
	Resolve     string       `json:"resolve,omitempty"`
	Recommended *Recommended `json:"recommended,omitempty"`
}

// SelfDiffers is a quantity in which an arm differs from itself.
type SelfDiffers struct {
	Workload string `json:"workload"`
	figures.Quantity
	Difference float64 `json:"difference"`
	// PValue is corrected for all comparisons of the run (Holm).
	PValue float64 `json:"p_value"`
}

// Floor is the noise of one quantity of one workload. Scatters are standard deviations of normal distributions whose
// bulk is as wide (stats.Noise.SD), in the unit of the quantity; null if unknown.
type Floor struct {
	Workload string `json:"workload"`
	figures.Quantity
	// Duration and ShortDuration are how long the trials measured, in seconds. ShortDuration is null without short
	// trials.
	Duration      float64  `json:"duration_seconds"`
	ShortDuration *float64 `json:"short_duration_seconds"`
	// Level is the median of the arm's trials, Pairs the number of blocks.
	Level float64 `json:"level"`
	Pairs int     `json:"pairs"`
	// Between is the scatter of blocks, which both arms of a block share, Within the scatter of trials in one block,
	// WithinShort the same for short trials. Overall is the scatter of the arm's trials over the whole run.
	Between     *float64 `json:"sd_between_blocks"`
	Within      *float64 `json:"sd_within_blocks"`
	WithinShort *float64 `json:"sd_within_blocks_short"`
	Overall     *float64 `json:"sd_overall"`
	// Fixed is the part of the variance within blocks that longer trials do not shrink, 0 to 1.
	Fixed *float64 `json:"fixed_share"`
	// ShortLevel is the difference of the figure in short trials as a share of Level, if it is not chance.
	ShortLevel *float64 `json:"short_relative,omitempty"`
	// Detectable is for increasing numbers of blocks, and trials of Duration.
	Detectable []DetectableAt `json:"detectable"`
	// Resolve says how to find the wanted difference in this quantity; nil if its unit is another.
	Resolve *FloorPlan `json:"resolve,omitempty"`
}

// DetectableAt is the smallest true difference that a number of blocks finds with a probability of 80 %; null if they
// are too few for any difference. Relative is the same as a share of the level.
type DetectableAt struct {
	Blocks     int      `json:"blocks"`
	Difference *float64 `json:"difference"`
	Relative   *float64 `json:"relative"`
	// Interval holds the difference that any number of blocks of the baseline would give, with a confidence of 90 %. It
	// has no upper bound if the measured blocks do not tell.
	Interval figures.Interval `json:"interval"`
}

// mostUncertain is the factor by which the ends of the interval may differ from the difference before reports mark it.
const mostUncertain = 2

// Uncertain says that the true difference can be less than half of Difference, or more than twice as large.
func (d DetectableAt) Uncertain() bool {
	return d.Difference != nil && d.Interval != nil &&
		(d.Interval[0]*mostUncertain < *d.Difference || d.Interval[1] > mostUncertain**d.Difference)
}

// FloorPlan says how many blocks find a difference with a probability of 80 %. Blocks is for trials as long as in the
// file. CheapestBlocks blocks of trials of CheapestDuration take the least time. All are null if no plan within the
// bounds finds it: from the experiment's default number of blocks to MostPlanned.
type FloorPlan struct {
	Difference       float64  `json:"difference"`
	Blocks           *int     `json:"blocks"`
	CheapestBlocks   *int     `json:"cheapest_blocks"`
	CheapestDuration *float64 `json:"cheapest_duration_seconds"`
}

// MostPlanned is the largest number of blocks that is recommended.
const MostPlanned = 500

// shownBlocks are the numbers of blocks for which a noise floor is stated, besides the file's own.
func shownBlocks() []int { return []int{5, 10, 20, 40} }

// noiseFloor makes the noise floor from the trials of an experiment with a SelfComparison.
func noiseFloor(in Input, comparisons []figures.Comparison, tables []figures.Cells) *NoiseFloor {
	self := in.Experiment.SelfComparison
	floor := &NoiseFloor{Arm: self.Arm, Experiment: self.Of, Comparisons: self.Comparisons, Blocks: self.Blocks,
		Figures: []Floor{}, Resolve: self.Resolve}
	aim := in.Resolve
	if aim == nil {
		aim, _ = figures.ParseAim(self.Resolve) // the record of a run may hold anything
	}
	if aim != nil {
		floor.Resolve = aim.Text
	}
	floor.Differs = selfDiffers(comparisons)
	floor.Sound = len(floor.Differs) == 0
	var all []measuredFloor
	for _, lengths := range self.Lengths {
		all = append(all, floorsOf(in, tables, lengths)...)
	}
	for i := range all {
		all[i].resolve(aim, fewestPlanned(self))
		floor.Figures = append(floor.Figures, all[i].Floor)
	}
	if aim != nil {
		floor.Recommended = recommend(in, all, aim)
	}
	return floor
}

// selfDiffers lists the comparisons that differ after Holm's correction over all of them.
func selfDiffers(all []figures.Comparison) []SelfDiffers {
	var tested []figures.Comparison
	var p []float64
	for _, c := range all {
		if c.PValue != nil && c.Difference != nil {
			tested, p = append(tested, c), append(p, *c.PValue)
		}
	}
	var differs []SelfDiffers
	for i, corrected := range stats.Holm(p) {
		if corrected <= stats.Alpha {
			c := tested[i]
			differs = append(differs, SelfDiffers{c.Workload, c.Quantity, *c.Difference, corrected})
		}
	}
	return differs
}

// measuredFloor is a Floor with the figures that it was computed from.
type measuredFloor struct {
	Floor
	primary bool
	noise   stats.Noise // as in the file's table of comparisons
	fit     *stats.ByLength
	lengths []float64 // in seconds, increasing
	// trial is about how long a trial takes beyond its duration, in seconds.
	trial float64
	tests int
	found []stats.Quantity // Detectable by number of blocks, as far as it was asked for
	aim   float64          // the wanted difference; 0 for none
}

// floorsOf makes the noise floors of one workload.
func floorsOf(in Input, tables []figures.Cells, lengths experiment.Lengths) []measuredFloor {
	self := in.Experiment.SelfComparison
	var all []measuredFloor
	for _, c := range tables {
		if c.Workload != lengths.Workload || c.ReportOnly || len(in.Experiment.Arms) < 2 {
			continue
		}
		w, _ := in.Experiment.Workload(c.Workload)
		arm, again := in.Experiment.Arms[0].Name, in.Experiment.Arms[1].Name
		compared := stats.Compare(c.Ranked(again), c.Ranked(arm))
		if !compared.Noise.Known() || compared.Blocks < figures.LeastScatter {
			continue
		}
		f := measuredFloor{
			Floor: Floor{Workload: c.Workload, Quantity: c.Quantity, Duration: w.Duration.Seconds(),
				Level: figures.Level(c.Ranked(arm)), Pairs: compared.Blocks, Detectable: []DetectableAt{}},
			primary: c.Primary, noise: compared.Noise.Independent(), trial: beyondDuration(in.Trials, c.Workload),
			lengths: []float64{w.Duration.Seconds()}, tests: self.Comparisons,
		}
		f.Between, f.Within = f.scatters(c, arm, again)
		f.Overall = figures.PointerOf(stats.NoiseOf(stats.Numbers(firsts(c, arm))).SD())
		if i := slices.IndexFunc(tables, func(s figures.Cells) bool {
			return s.Workload == lengths.Short && s.Quantity == c.Quantity && !s.ReportOnly
		}); i >= 0 && lengths.Short != "" {
			f.shortTrials(in, c, tables[i], lengths)
		}
		blocks := append(shownBlocks(), self.Blocks)
		slices.Sort(blocks)
		for _, n := range slices.Compact(blocks) {
			f.Detectable = append(f.Detectable, f.at(n))
		}
		all = append(all, f)
	}
	return all
}

// scatters gives the scatter of blocks and of trials within them. The scatter of blocks is the variance of the means of
// a block's two trials, less half of the variance of one trial.
func (f *measuredFloor) scatters(c figures.Cells, arm, again string) (between, within *float64) {
	other := map[int]float64{}
	for _, v := range firsts(c, again) {
		other[v.Block] = v.Value
	}
	var differences, means []float64
	for _, v := range firsts(c, arm) {
		if o, ok := other[v.Block]; ok {
			differences, means = append(differences, v.Value-o), append(means, v.Value/2+o/2)
		}
	}
	d, m := stats.NoiseOf(differences).SD(), stats.NoiseOf(means).SD()
	if !d.Known {
		return nil, nil
	}
	one := d.Value / math.Sqrt2
	if m.Known {
		between = new(math.Sqrt(math.Max(0, m.Value*m.Value-one*one/2)))
	}
	return between, &one
}

// firsts gives an arm's values, one trial for each block, also if blocks run it several times.
func firsts(c figures.Cells, arm string) []stats.Value {
	var values []stats.Value
	for _, t := range c.ByArm[arm] {
		if t.Repeat <= 1 {
			values = append(values, stats.Value{Block: t.Block, Value: c.Value(t)})
		}
	}
	return values
}

// mostShortLevel is how much the figure of short trials may differ, as a share of the level, for shorter trials to be
// recommended: beyond it they measure something else.
const mostShortLevel = 0.05

// shortTrials adds what short trials of the workload say.
func (f *measuredFloor) shortTrials(in Input, long, short figures.Cells, lengths experiment.Lengths) {
	arm, again := in.Experiment.Arms[0].Name, in.Experiment.Arms[1].Name
	w, _ := in.Experiment.Workload(short.Workload)
	seconds := w.Duration.Seconds()
	compared := stats.Compare(short.Ranked(again), short.Ranked(arm))
	fit, ok := stats.FitLength(f.noise, compared.Noise, f.Duration, seconds)
	if !ok || compared.Blocks < figures.LeastScatter {
		return
	}
	f.fit, f.ShortDuration, f.Fixed = &fit, &seconds, new(fit.Fixed())
	_, f.WithinShort = f.scatters(short, arm, again)
	f.lengths = nil
	level := stats.Compare(short.Ranked(arm), long.Ranked(arm))
	otherLevel := level.Verdict == stats.Higher || level.Verdict == stats.Lower
	if otherLevel {
		f.ShortLevel = figures.PointerOf(level.Relative)
	}
	for _, d := range lengths.Durations {
		if d.Seconds() >= f.Duration || f.ShortLevel == nil || math.Abs(*f.ShortLevel) <= mostShortLevel {
			f.lengths = append(f.lengths, d.Seconds())
		}
	}
}

// factor is the scatter of trials of this length, as a share of the scatter of trials of Duration.
func (f *measuredFloor) factor(seconds float64) float64 {
	if f.fit == nil || seconds == f.Duration {
		return 1
	}
	return f.fit.Factor(seconds)
}

// detectable is what this number of blocks finds with trials of Duration.
func (f *measuredFloor) detectable(blocks int) stats.Quantity {
	for n := len(f.found); n <= blocks; n++ {
		f.found = append(f.found, f.noise.In(n, f.tests).Detectable())
	}
	return f.found[blocks]
}

func (f *measuredFloor) at(blocks int) DetectableAt {
	noise := f.noise.In(blocks, f.tests)
	d := DetectableAt{Blocks: blocks, Difference: figures.PointerOf(noise.Detectable())}
	if i := noise.DetectableInterval(); i.Known {
		d.Interval = &figures.Bounds{i.Low, i.High}
	}
	if d.Difference != nil && f.Level > 0 {
		d.Relative = new(*d.Difference / f.Level)
	}
	return d
}

// beyondDuration is about how long a trial of a workload takes beyond its measurement window, in seconds: the median
// time from its start to the start of the next trial, less the window. 0 if that is not known.
func beyondDuration(trials []result.Trial, workload string) float64 {
	all := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Started.IsZero() })
	slices.SortStableFunc(all, func(a, b result.Trial) int { return a.Started.Compare(b.Started) })
	var beyond []float64
	for i, t := range all {
		if t.Workload == workload && t.Error == "" && i+1 < len(all) {
			window := time.Duration(t.DurationSeconds * float64(time.Second))
			beyond = append(beyond, (all[i+1].Started.Sub(t.Started) - window).Seconds())
		}
	}
	if len(beyond) == 0 {
		return 0
	}
	slices.Sort(beyond)
	return math.Max(0, beyond[len(beyond)/2])
}

// warnings says what the noise floor leaves out.
func (n *NoiseFloor) warnings(in Input, comparisons []figures.Comparison) []Warning {
	var warnings []Warning
	if d := in.Experiment.SelfComparison.Deployments; d > 1 {
		warnings = append(warnings, Warning{Code: "deployments-not-in-baseline", Message: fmt.Sprintf(
			"%s makes its hosts %d times, and its answer includes how they differ: this run was made on one set of "+
				"hosts and says nothing about that", in.Experiment.SelfComparison.Of, d)})
	}
	tested, alone := 0, []string{}
	for _, c := range comparisons {
		if c.PValue == nil {
			continue
		}
		tested++
		if c.Verdict == figures.Higher || c.Verdict == figures.Lower {
			alone = append(alone, c.Workload+" "+c.Name())
		}
	}
	if n.Sound && len(alone) > 0 {
		warnings = append(warnings, Warning{Code: "self-difference", Message: fmt.Sprintf(
			"%s differs from itself in %s. By chance alone some of %d comparisons do so in up to %s of such runs: run "+
				"it again to see whether it stays", n.Arm, list(alone[:min(len(alone), mostNamed)]), tested,
			result.Share(1-math.Pow(1-stats.Alpha, float64(tested))))})
	}
	for _, f := range n.Figures {
		if f.ShortLevel != nil && math.Abs(*f.ShortLevel) > mostShortLevel {
			warnings = append(warnings, Warning{Code: "short-trials-differ", Workload: f.Workload, Message: fmt.Sprintf(
				"%s is %s in trials of %s than in trials of %s, so shorter trials are not recommended", f.Name(),
				moreOrLess(*f.ShortLevel), experiment.FormatDuration(duration(*f.ShortDuration)),
				experiment.FormatDuration(duration(f.Duration)))})
		}
	}
	return warnings
}

// moreOrLess writes a relative difference: "12 % higher".
func moreOrLess(share float64) string {
	if share < 0 {
		return result.Share(-share) + " lower"
	}
	return result.Share(share) + " higher"
}
