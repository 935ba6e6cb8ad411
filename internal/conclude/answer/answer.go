// Package answer turns a run's trials into the answer to the experiment's question: figures of the arms, differences
// from the baseline, the cost of each layer, and warnings.
package answer

import (
	"encoding/json"

	"nearfar/internal/conclude/answer/captured"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/inside"
	"nearfar/internal/conclude/answer/meaning"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/conclude/answer/saturation"
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
	figures.Figures
	Warnings []Warning `json:"warnings"`
	// Environment describes the machines of a run.
	Environment *environment.Environment `json:"ground,omitempty"`
	proof.Proofs
	environment.Hosts
	Noise
	// Objectives are the objectives of the experiment file, if it has any.
	Objectives []Objective `json:"objectives,omitempty"`
	// Meaning says how many round trips the difference of an application is worth, for each workload of an application
	// that is measured beside round trips (docs/meaning.md). Added is what round trips and bytes add in each arm.
	Meaning []meaning.Meaning `json:"meaning,omitempty"`
	Added   *meaning.Added    `json:"added,omitempty"`
	// Saturation is what the arms carry, of workloads that differ only in the offered rate (docs/saturation.md).
	Saturation []saturation.Saturation `json:"saturation,omitempty"`
	// Inside is where the time of round trips went, of each workload with a watched twin (docs/inside.md).
	Inside []inside.Inside `json:"inside,omitempty"`
	// Captured is what was captured, of each workload with a captured twin (docs/captures.md).
	Captured []captured.Captured `json:"captured,omitempty"`
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
	Dependence *figures.Dependence `json:"dependence,omitempty"`
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

// Noise is what comparisons of an arm with itself say.
type Noise struct {
	// NoiseFloor is set if the run compares an arm with itself.
	NoiseFloor *NoiseFloor `json:"noise_floor,omitempty"`
	// Earlier is what an earlier comparison of an arm with itself says about the hosts of this run.
	Earlier *Earlier `json:"earlier_baseline,omitempty"`
}

// Compared are the parts of an answer about two sides. They are set by `compare`.
type Compared struct {
	Sources       []Source               `json:"sources,omitempty"`
	Distributions []figures.Distribution `json:"distributions,omitempty"`
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
	Resolve *figures.Aim
	// Earlier is the Earlier of the answer; nil for none.
	Earlier *Earlier
	// Warnings come from the code that made the hosts.
	Warnings []Warning
	// groups are the Trials by arm and workload; nil before Make.
	groups groups
}
