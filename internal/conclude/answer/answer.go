// Package answer turns a run's trials into the answer to the experiment's question: figures of the arms, differences
// from the baseline, the cost of each layer, and warnings.
package answer

import (
	"encoding/json"
	"strings"

	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Answer is printed by `run`, `report` and `compare`; its JSON keys are stable, and in the order of the embedded parts.
// Times are in seconds, rates in bits or counts per second.
type Answer struct {
	Nearfar  string `json:"nearfar"`
	Question string `json:"question"`
	Words
	Ran
	Figures
	Warnings []Warning `json:"warnings"`
	// Environment describes the machines of a run.
	Environment *environment.Environment `json:"ground,omitempty"`
	proof.Proofs
	environment.Hosts
	Noise
	// Objectives are the objectives of the experiment file, if it has any.
	Objectives []Objective `json:"objectives,omitempty"`
	Compared
}

// Words is the answer in words.
type Words struct {
	// Verdict is the whole answer in words: Headline, Basis and Also.
	Verdict string `json:"verdict"`
	// Headline answers the question in at most MostWords words. Basis says what that rests on, Also what else was
	// found; both may be empty.
	Headline string `json:"headline"`
	Basis    string `json:"basis,omitempty"`
	Also     string `json:"also,omitempty"`
	// Findings are the statements about failures, layers and arms, in the order of Rank.
	Findings []Finding `json:"findings"`
}

// Ran says what was planned, and what ran of it.
type Ran struct {
	Run      string `json:"run"`
	State    string `json:"state"`
	Baseline string `json:"baseline"`
	// AskedAbout is the arm that the question is about; empty if the file names none.
	AskedAbout string `json:"asked_about,omitempty"`
	// Imported says that the results were recorded by other programs. Their trials belong to no block unless Paired.
	Imported bool `json:"imported,omitempty"`
	// Paired says that imported results are paired by the order in which they were read.
	Paired bool `json:"paired,omitempty"`
	// Blocks is the number of planned blocks, Trials the number of trials that ran, Failed how many of these have no
	// result.
	Blocks int `json:"blocks"`
	Trials int `json:"trials"`
	Failed int `json:"failed"`
	// Dependence describes how much the differences of all comparisons together depend on those of the blocks before;
	// its Counted is the number of blocks. Null without blocks, or with fewer than 10.
	Dependence *Dependence `json:"dependence,omitempty"`
	// AnyTime says that intervals, p-values and verdicts hold at any number of blocks: the run goes on, was stopped, or
	// ended by itself when it knew enough.
	AnyTime bool `json:"any_time,omitempty"`
	// Deployments is how many times the schedule makes the hosts; 0 for once. Blocks are those of all deployments.
	Deployments int `json:"deployments,omitempty"`
	// Replaced is how many failed trials were replaced by a good trial of the same block. Comparisons use the first
	// attempts; the replacements are in means.
	Replaced int `json:"replaced,omitempty"`
	// Failing says in sentences that more than half of the trials failed, or all trials of an arm. The exit code of a
	// run is then 1.
	Failing string `json:"failing,omitempty"`
	// Settings say what the arms are: their paths, if these differ, and what they set.
	Settings []Settings `json:"settings,omitempty"`
	// Workloads are what was measured, in the order of the run.
	Workloads []Measured `json:"workloads,omitempty"`
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

// Noise is what comparisons of an arm with itself say.
type Noise struct {
	// NoiseFloor is set if the run compares an arm with itself.
	NoiseFloor *NoiseFloor `json:"noise_floor,omitempty"`
	// Earlier is what an earlier comparison of an arm with itself says about the hosts of this run.
	Earlier *Earlier `json:"earlier_baseline,omitempty"`
}

// Compared are the parts of an answer about two sides. They are set by `compare`.
type Compared struct {
	Sources       []Source       `json:"sources,omitempty"`
	Distributions []Distribution `json:"distributions,omitempty"`
}

// Settings are what an arm sets, and the path of its lab if not all arms have the same.
type Settings struct {
	Arm string `json:"arm"`
	// Path is the path in a line: "bridge, wire (1ms each way)".
	Path string `json:"path,omitempty"`
	// Text is all settings in a line: "congestion bbr".
	Text string               `json:"text"`
	Set  []experiment.Setting `json:"set"`
}

// Measured is a workload of an answer.
type Measured struct {
	Workload string `json:"workload"`
	// Question is what the workload answers, if the file says so.
	Question string `json:"question,omitempty"`
	// Mode is the mode of the tool; empty if it is not known, or not the same in all trials.
	Mode string `json:"mode,omitempty"`
	// Rate is the offered rate in requests or messages per second, if it is the same in all arms; else 0.
	Rate float64 `json:"offered_rate,omitempty"`
	// Waited is the share of their runnable time that the trials waited for CPUs that other programs used, the mean
	// over the good trials; 0 if that is unknown.
	Waited float64 `json:"waited,omitempty"`
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

// Figure is the median over an arm's trials of one statistic of the trial.
type Figure struct {
	Arm      string `json:"arm"`
	Workload string `json:"workload"`
	// Side is the source of the arm, if there are two: "A" or "B".
	Side string `json:"side,omitempty"`
	Quantity
	Median   float64  `json:"median"`
	Interval Interval `json:"interval"`
	Trials   int      `json:"trials"`
	// Caution says what distorts the figure: a wire that was late, or did not carry its rate.
	Caution string `json:"caution,omitempty"`
	// Limited says that something other than the arm limits the figure: most trials carried clearly less than their
	// wire.
	Limited bool `json:"limited,omitempty"`
	// Runs is the number of runs, if there are several: Median and Interval are then computed from the runs' medians.
	Runs int `json:"runs,omitempty"`
	// Unbounded says on which side the interval has no bound ("above", "below" or "both"), because trials are
	// Missing.
	Unbounded string `json:"unbounded,omitempty"`
	// Missing is how many of the trials lack the figure. They count as worse than all others.
	Missing int `json:"missing,omitempty"`
	// Failed is how many of the trials failed at the first attempt. They count as worse than all others, also if good
	// ones replaced them.
	Failed int `json:"failed,omitempty"`
	// Over is the protocol, if the answer has figures over several: "UDP".
	Over string `json:"over,omitempty"`
	// Pooled is the same percentile of all observations of all trials together, from their histograms. It is a
	// description without an interval. A stall that fills one trial moves it, but not the median over trials.
	Pooled *float64 `json:"pooled,omitempty"`
}

// Quantity identifies a number of a trial.
type Quantity struct {
	Metric string `json:"metric"`
	Stat   string `json:"stat"`
	Unit   string `json:"unit"`
	// Scope is the part of the trial, such as "background"; empty for the whole trial.
	Scope string `json:"scope,omitempty"`
}

// Of finds the quantity's value in a trial.
func (q Quantity) Of(t result.Trial) (float64, bool) { return t.ScopedValue(q.Metric, q.Stat, q.Scope) }

// of is Of without a copy of the trial.
func (q Quantity) of(t *result.Trial) (float64, bool) {
	return t.ScopedValue(q.Metric, q.Stat, q.Scope)
}

// Name names the quantity: "rtt p50", "goodput of the background".
func (q Quantity) Name() string {
	name := strings.TrimSpace(q.Metric + " " + q.Stat)
	if q.Scope != "" {
		name += " of the " + q.Scope
	}
	return name
}

// The verdicts of a comparison. They are about the value of the metric, not about which side is better.
const (
	Higher       = "higher"
	Lower        = "lower"
	NoDifference = "no-difference"
	// FewBlocks, FewTrials and FewRuns: too few for any difference to be found. SingleTrial: each side has one trial,
	// so there is no interval.
	FewBlocks = "too-few-blocks"
	FewTrials = "too-few-trials"
	FewRuns   = "too-few-runs"
	// FewDeployments: fewer than two deployments have enough blocks, so that their scatter is unknown.
	FewDeployments = "too-few-deployments"
	SingleTrial    = "single-trial"
	// NotComparable: the comparison is refused, for the reason given.
	NotComparable = "not-comparable"
)

// Comparison is an arm against the baseline, paired within blocks unless Trials is set.
type Comparison struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	Quantity
	// Otherwise lists what the arm has otherwise than the baseline: "router", "2 vtep", "congestion=bbr".
	Otherwise []string `json:"otherwise,omitempty"`
	// Same says that the two have the same hosts, and nothing otherwise in this workload: the arm sets something in
	// another one.
	Same             bool     `json:"same,omitempty"`
	Difference       *float64 `json:"difference"`
	Interval         Interval `json:"interval"`
	Confidence       float64  `json:"confidence"`
	Relative         *float64 `json:"relative"`
	RelativeInterval Interval `json:"relative_interval"`
	// Unbounded says on which side both intervals have no bound ("above", "below" or "both"), because trials are
	// Missing.
	Unbounded string `json:"unbounded,omitempty"`
	// Widened says that the intervals were extended to 0 because the correction for the whole table does not exclude
	// 0.
	Widened bool `json:"widened"`
	// PValue is corrected for the number of comparisons in the family (Holm).
	PValue  *float64 `json:"p_value"`
	Verdict string   `json:"verdict"`
	// Better is "arm" or "baseline" if they differ and the metric has a better side.
	Better string `json:"better,omitempty"`
	// But says in words what the arm does worse elsewhere, if it is better here.
	But string `json:"but,omitempty"`
	// Over says which protocols are compared, if the answer has figures over several: "TCP", "UDP against TCP".
	Over string `json:"over,omitempty"`
	// Detectable is the smallest true difference that this comparison finds four times in five.
	Detectable *float64 `json:"detectable"`
	// Blocks is the number of pairs; BlocksNeeded is how many more would resolve the observed difference.
	Blocks       int  `json:"blocks"`
	BlocksNeeded *int `json:"blocks_needed"`
	// Trials counts the trials of the arm and of the baseline if they are not paired. Blocks is then 0, and
	// BlocksNeeded is how many more trials each side needs.
	Trials *[2]int `json:"trials,omitempty"`
	// About says what the comparison applies to. If the two sides are different runs: "these-runs" for the two
	// measured runs only, "runs" if the intervals include the scatter between runs. BlocksNeeded then counts runs on
	// each side. If they are arms of one run: "configuration" if the intervals include the scatter between
	// deployments, "this-deployment" for hosts that were chosen or allocated once, "these-labs" for labs that were made
	// once and may differ by no more than equal labs do. Empty for other labs that were made once.
	About string `json:"about,omitempty"`
	// Runs counts the runs of the arm and of the baseline if About is "runs". ScatterRuns is the number of other runs
	// in the history from which the scatter between runs was estimated, if each side is one run.
	Runs        *[2]int `json:"runs,omitempty"`
	ScatterRuns int     `json:"scatter_runs,omitempty"`
	// BaselineWorkload is the workload of the baseline if two workloads are compared; Workload is then the arm's.
	BaselineWorkload string `json:"baseline_workload,omitempty"`
	// Missing is how many good trials of the arm and of the baseline lack the quantity. They count as worse than all
	// others.
	Missing *[2]int `json:"missing,omitempty"`
	// Failed is how many first attempts of the arm and of the baseline failed. They count as worse than all others,
	// also if good ones replaced them.
	Failed *[2]int `json:"failed,omitempty"`
	// Family is the number of comparisons that PValue is corrected for: all of this workload and quantity.
	Family int `json:"family,omitempty"`
	// Unproved says which of the two arms is not proved to be what it claims in the compared trials; empty if both are.
	Unproved string `json:"unproved,omitempty"`
	// OneBlock is set if one block decides the verdict.
	OneBlock *OneBlock `json:"one_block_decides,omitempty"`
	// Resolve says how many blocks find the difference that the user asked about.
	Resolve *Resolution `json:"resolve,omitempty"`
	// Reason says why the two are not comparable, why there is no interval, or why the size of a sure difference is not
	// known: Difference is then null.
	Reason string `json:"reason,omitempty"`
	// Dependence describes the dependence between neighbouring blocks; nil without blocks, or with too few to tell.
	Dependence *Dependence `json:"dependence,omitempty"`
	// Deployments is set if the hosts were made several times. Difference is then the mean of the deployments'
	// differences, and Interval is Student's with the deployment as the unit.
	Deployments *Deployments `json:"deployments,omitempty"`
}

// Dependence is the dependence of the paired differences on earlier blocks.
type Dependence struct {
	// PValue is the p-value of the rank von Neumann test, for this comparison alone.
	PValue float64 `json:"p_value"`
	// Correlation is the rank correlation of neighbours, at least 0.
	Correlation float64 `json:"correlation"`
	// Counted is the effective number of blocks, used for the interval, the p-value and Detectable.
	Counted int `json:"counted"`
}

// OneBlock says that a single block decides the verdict: without one block that agrees there would be no difference.
// BlocksMore is how many further blocks would have prevented that, if they had agreed with the majority.
type OneBlock struct {
	BlocksMore int `json:"blocks_more"`
}

// Layer is the cost of one layer.
type Layer struct {
	Layer    string `json:"layer"`
	Workload string `json:"workload"`
	Quantity
	// Cost is Mean if Arm is empty. If Arm is set, Cost is the median difference of Arm from the baseline, divided by
	// the number of units of the layer in which they differ.
	Cost float64 `json:"cost"`
	// Interval is a 95 % interval of this cost alone. It is extended to 0, and Widened set, if Verdict is
	// no-difference.
	Interval Interval `json:"interval"`
	Widened  bool     `json:"widened,omitempty"`
	// Unbounded says on which side the interval has no bound, if the layer takes it from the comparison with Arm.
	Unbounded string `json:"unbounded,omitempty"`
	// PValue is corrected for the number of layers in the answer (Holm). If Arm is set, it is the p-value of that
	// comparison.
	PValue *float64 `json:"p_value"`
	// Verdict is higher, lower, no-difference or too-few-blocks, as in a comparison.
	Verdict string `json:"verdict"`
	// Arm is set if the cost depends only on this arm's difference from the baseline.
	Arm string `json:"arm,omitempty"`
	// Mean is the cost by least squares; these add up.
	Mean float64 `json:"mean"`
	// Additive is false if the layers do not add up (Additivity): the cost is then an average over these arms. Null if
	// that cannot be tested.
	Additive *bool `json:"additive"`
	// Adds is what the layer adds to each arm that crosses it more often than the baseline: count * Mean.
	Adds []Contribution `json:"adds"`
	// Missing is how many good trials lack the quantity, and are not in the cost.
	Missing int `json:"missing,omitempty"`
	// Detectable is the smallest true cost that is found four times in five, as in a comparison.
	Detectable *float64 `json:"detectable,omitempty"`
	// Unproved says which of the arms that the cost comes from are not proved to be what they claim.
	Unproved string `json:"unproved,omitempty"`
}

// Contribution is a layer's part in the difference of an arm from the baseline.
type Contribution struct {
	Arm   string  `json:"arm"`
	Count float64 `json:"count"`
	Adds  float64 `json:"adds"`
}

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

// Warning is a fact that a reader of the numbers must know. Those who only write warnings need no answer for it.
type Warning = result.Warning

// Input is the input of an answer.
type Input struct {
	Experiment *experiment.Experiment
	Trials     []result.Trial
	// Run is the path of the run; State is the state of its directory.
	Run, State string
	// Seed makes the bootstrap repeatable.
	Seed uint64
	// Skipped are the workloads that could not run, with the reason.
	Skipped map[string]string
	// Hosts describes the hosts, as in the run directory.
	Hosts json.RawMessage
	// Resolve is the difference that the user asks about; nil for none.
	Resolve *Aim
	// Earlier is the Earlier of the answer; nil for none.
	Earlier *Earlier
	// Warnings come from the code that made the hosts.
	Warnings []Warning
	// groups are the Trials by arm and workload; nil before Make.
	groups groups
}
