// Package answer turns a run's trials into the answer to the experiment's question: figures of the arms, differences
// from the baseline, what each layer adds, and what must be known beside them.
package answer

import (
	"encoding/json"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// Answer is what `run`, `report` and `compare` print; its JSON keys are stable. Times are in seconds, rates in bits or
// counts per second.
type Answer struct {
	Nearfar  string `json:"nearfar"`
	Question string `json:"question"`
	// Verdict is the answer in a sentence: the first of Findings.
	Verdict string `json:"verdict"`
	// Findings is all that the answer says of layers and arms, the strongest first.
	Findings []Finding `json:"findings"`
	Run      string    `json:"run"`
	State    string    `json:"state"`
	Baseline string    `json:"baseline"`
	// Imported says that the results were recorded elsewhere: unless Paired, the trials belong to no block.
	Imported bool `json:"imported,omitempty"`
	// Paired says of imported results that they are paired all the same, by the order in which they were read.
	Paired bool `json:"paired,omitempty"`
	// Blocks is how many were planned, Trials how many ran, Failed how many of these have no result.
	Blocks int `json:"blocks"`
	Trials int `json:"trials"`
	Failed int `json:"failed"`
	// Replaced is how many of the failed trials a good one of the same block stands for.
	Replaced int `json:"replaced,omitempty"`
	// Failing says in sentences that more than half of the trials failed, or all of an arm. A run says so with exit code 1.
	Failing string `json:"failing,omitempty"`
	// Settings are what arms have otherwise than the workloads say.
	Settings []Settings `json:"settings,omitempty"`
	// Averages says which average each kind of figure is.
	Averages    Averages     `json:"averages"`
	Arms        []Figure     `json:"arms"`
	Comparisons []Comparison `json:"comparisons"`
	Layers      []Layer      `json:"layers"`
	Residual    []Residual   `json:"residual"`
	// Additivity has the test of each quantity whose layers could fail to add up.
	Additivity []Additivity `json:"additivity,omitempty"`
	Warnings   []Warning    `json:"warnings"`
	// Ground is what a run in a lab stood on.
	Ground *Ground `json:"ground,omitempty"`
	// Objectives are those of the experiment file, where it has any.
	Objectives []Objective `json:"objectives,omitempty"`
	// Sources and Distributions are those of `compare`.
	Sources       []Source       `json:"sources,omitempty"`
	Distributions []Distribution `json:"distributions,omitempty"`
}

// Settings are what an arm sets.
type Settings struct {
	Arm string `json:"arm"`
	// Text is all of it in a line: "congestion bbr".
	Text string               `json:"text"`
	Set  []experiment.Setting `json:"set"`
}

// Averages says what is averaged, and how: medians, which bear trials far off and those that lack a figure, and means where figures
// have to add up.
type Averages struct {
	Arms        string `json:"arms"`
	Comparisons string `json:"comparisons"`
	Layers      string `json:"layers"`
}

// AveragesOf are those of an answer whose trials are paired within blocks, or not.
func AveragesOf(paired bool) Averages {
	a := Averages{
		Arms: "median over trials", Comparisons: "median of paired differences", Layers: "mean, by least squares; that of the comparison where a layer names an arm",
	}
	if !paired {
		a.Comparisons = "median of all differences between a trial of the one and a trial of the other"
	}
	return a
}

// Figure is the median over an arm's trials of one statistic of the trial.
type Figure struct {
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	// Side is the source that the arm is of, where there are two: "A" or "B".
	Side string `json:"side,omitempty"`
	Quantity
	Median   float64  `json:"median"`
	Interval Interval `json:"interval"`
	Trials   int      `json:"trials"`
	// Caution says what spoiled the figure: a wire that was late, or did not carry its rate.
	Caution string `json:"caution,omitempty"`
	// Runs is how many runs Median and Interval are of, by their medians, where there are several.
	Runs int `json:"runs,omitempty"`
	// Unbounded says on which side the interval has no bound ("above", "below" or "both"), because of trials that are Missing.
	Unbounded string `json:"unbounded,omitempty"`
	// Missing is how many of the trials lack the figure. They count as worse than all others.
	Missing int `json:"missing,omitempty"`
	// Pooled is the same percentile of all observations of the trials together, from their histograms: a description, without an
	// interval. A stall that fills one trial moves it, and not the median over trials.
	Pooled *float64 `json:"pooled,omitempty"`
}

// Quantity is which number of a trial is meant.
type Quantity struct {
	Metric string `json:"metric"`
	Stat   string `json:"stat"`
	Unit   string `json:"unit"`
	// Scope says which part of the trial is meant where it is not the whole: "background".
	Scope string `json:"scope,omitempty"`
}

// Of finds the quantity's value in a trial.
func (q Quantity) Of(t result.Trial) (float64, bool) { return t.ScopedValue(q.Metric, q.Stat, q.Scope) }

// Name names the quantity: "rtt p50", "goodput of the background".
func (q Quantity) Name() string {
	name := strings.TrimSpace(q.Metric + " " + q.Stat)
	if q.Scope != "" {
		name += " of the " + q.Scope
	}
	return name
}

// The verdicts of a comparison, on the value of the metric and not on what is better.
const (
	Higher       = "higher"
	Lower        = "lower"
	NoDifference = "no-difference"
	// FewBlocks, FewTrials and FewRuns: with so few no difference could be found. SingleTrial: there is one trial a side, and no interval can
	// be given.
	FewBlocks   = "too-few-blocks"
	FewTrials   = "too-few-trials"
	FewRuns     = "too-few-runs"
	SingleTrial = "single-trial"
	// NotComparable: the comparison is refused, for the reason given.
	NotComparable = "not-comparable"
)

// Comparison is an arm set against the baseline, paired within blocks.
type Comparison struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	Quantity
	Difference       *float64 `json:"difference"`
	Interval         Interval `json:"interval"`
	Confidence       float64  `json:"confidence"`
	Relative         *float64 `json:"relative"`
	RelativeInterval Interval `json:"relative_interval"`
	// Unbounded says on which side both intervals have no bound ("above", "below" or "both"), because of trials that are Missing.
	Unbounded string `json:"unbounded,omitempty"`
	// Widened says that the intervals were extended to 0, because the table as a whole does not allow 0 to be excluded.
	Widened bool `json:"widened"`
	// PValue is corrected for the number of comparisons in the family (Holm).
	PValue  *float64 `json:"p_value"`
	Verdict string   `json:"verdict"`
	// Better is "arm" or "baseline" where they differ and one side is better.
	Better string `json:"better,omitempty"`
	// Detectable is the smallest true difference that this comparison would have found four times in five.
	Detectable *float64 `json:"detectable"`
	// Blocks is how many pairs there were; BlocksNeeded how many more would resolve the difference seen.
	Blocks       int  `json:"blocks"`
	BlocksNeeded *int `json:"blocks_needed"`
	// Trials counts those of the arm and of the baseline where they are not paired: Blocks is then 0, and BlocksNeeded is how
	// many more trials on each side.
	Trials *[2]int `json:"trials,omitempty"`
	// About says of two sides that are not of one run what the comparison speaks of: "these-runs", the two that were measured, or
	// "runs", where how much runs differ from each other is in the interval. BlocksNeeded then counts runs on each side.
	About string `json:"about,omitempty"`
	// Runs counts those of the arm and of the baseline, where it is about runs. ScatterRuns is how many other runs of the history
	// tell how much runs scatter, where each side is one run.
	Runs        *[2]int `json:"runs,omitempty"`
	ScatterRuns int     `json:"scatter_runs,omitempty"`
	// BaselineWorkload is the baseline's where two workloads are compared; Workload is the arm's.
	BaselineWorkload string `json:"baseline_workload,omitempty"`
	// Missing is how many good trials of the arm and of the baseline lack the quantity. They count as worse than all others.
	Missing *[2]int `json:"missing,omitempty"`
	// Family is how many comparisons PValue is corrected for: those of this workload and quantity.
	Family int `json:"family,omitempty"`
	// OneBlock says that one block decides the verdict; null elsewhere.
	OneBlock *OneBlock `json:"one_block_decides,omitempty"`
	// Resolve says how many blocks find the difference that was asked about.
	Resolve *Resolution `json:"resolve,omitempty"`
	// Reason says why the two are not comparable, or why no interval can be given.
	Reason string `json:"reason,omitempty"`
	// Dependence says how far neighbouring blocks depend on each other; nil where they are too few to tell, and without blocks.
	Dependence *Dependence `json:"dependence,omitempty"`
}

// Dependence is that of the paired differences on those of the blocks before.
type Dependence struct {
	// PValue is that of the rank von Neumann test, of this comparison alone.
	PValue float64 `json:"p_value"`
	// Correlation is the rank correlation of neighbours, at least 0.
	Correlation float64 `json:"correlation"`
	// Counted is how many independent blocks the interval, the p-value and what could be seen reckon with.
	Counted int `json:"counted"`
}

// OneBlock says that a verdict hangs on one block: without one that agrees there would be no difference, or with one
// fewer that contradicts there would be one. BlocksMore is how many further blocks end that, if they agree with most.
type OneBlock struct {
	BlocksMore int `json:"blocks_more"`
}

// Layer is what one layer costs.
type Layer struct {
	Layer    string `json:"layer"`
	Workload string `json:"workload"`
	Quantity
	// Cost is Mean, but where the layer is Arm's difference from the baseline: then it is the comparison's median, for one of it.
	Cost float64 `json:"cost"`
	// Interval is a 95 % interval of this cost alone. It is extended to 0 where Verdict sees no difference, and then Widened.
	Interval Interval `json:"interval"`
	Widened  bool     `json:"widened,omitempty"`
	// Unbounded says on which side the interval of a comparison that the layer quotes has no bound.
	Unbounded string `json:"unbounded,omitempty"`
	// PValue is corrected for the number of layers in the answer (Holm), or that of the comparison with Arm.
	PValue *float64 `json:"p_value"`
	// Verdict is that of a comparison: higher, lower, no-difference, or too-few-blocks.
	Verdict string `json:"verdict"`
	// Arm is the one arm whose difference from the baseline is all that the design says of the layer.
	Arm string `json:"arm,omitempty"`
	// Mean is the cost by least squares, the one that adds up.
	Mean float64 `json:"mean"`
	// Additive is false where the layers do not add up: the cost is then an average over these arms. Null where that cannot be tested.
	Additive *bool `json:"additive"`
	// Adds is what the layer adds to each arm that crosses it more often than the baseline does: count times Mean.
	Adds []Contribution `json:"adds"`
	// Missing is how many good trials lack the quantity, and are not in the cost.
	Missing int `json:"missing,omitempty"`
}

// Contribution is a layer's part in the difference of an arm from the baseline.
type Contribution struct {
	Arm   string  `json:"arm"`
	Count float64 `json:"count"`
	Adds  float64 `json:"adds"`
}

// Residual is what the layers leave unexplained of the difference between the fullest arm and the baseline.
type Residual struct {
	Workload string `json:"workload"`
	Quantity
	Arm string `json:"arm"`
	// Whole is the difference of that arm from the baseline as measured; Parts is what the layers add up to.
	Whole    float64  `json:"whole"`
	Parts    float64  `json:"parts"`
	Value    float64  `json:"value"`
	Interval Interval `json:"interval"`
	// Saturated says that the residual is zero whatever was measured: there are as many unknowns as arms, or the arms lie
	// so that least squares passes through the difference of these two.
	Saturated bool `json:"saturated"`
	// Additive is that of the layers, over all arms: another arm may deviate where this one does not.
	Additive *bool `json:"additive"`
	// Missing is how many good trials lack the quantity, and are not in these figures.
	Missing int `json:"missing,omitempty"`
}

// Additivity is the test of whether the costs of layers add up to what the arms differ by.
type Additivity struct {
	Workload string `json:"workload"`
	Quantity
	// PValue is that of one test over all arms, of this quantity alone.
	PValue   float64 `json:"p_value"`
	Additive bool    `json:"additive"`
	Blocks   int     `json:"blocks"`
	// Arms are those that contradict the sum most: one, or several that the design cannot tell apart. By is how far an arm lies
	// above what its layers add up to, if it alone deviates.
	Arms []Deviation `json:"arms"`
}

// Deviation is how far an arm lies above what its layers add up to.
type Deviation struct {
	Arm string  `json:"arm"`
	By  float64 `json:"by"`
}

// Warning is what must be known beside the numbers.
type Warning struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
}

// Input is what an answer is made from.
type Input struct {
	Experiment *experiment.Experiment
	Trials     []result.Trial
	// Run is where the run is; State is that of the run directory.
	Run, State string
	// Seed makes the bootstrap repeatable.
	Seed uint64
	// Skipped are the workloads that could not run, with the reason.
	Skipped map[string]string
	// Hosts is what is known of the hosts, as the run directory has it.
	Hosts json.RawMessage
	// Resolve is the difference that somebody asks about; nil for none.
	Resolve *Aim
	// Warnings are those that whoever made the hosts has to give.
	Warnings []Warning
}
