package answer

import "nearfar/internal/declare/check"

// ArmProof says whether an arm was what it claims in the trials that were measured.
type ArmProof struct {
	Arm string `json:"arm"`
	// Outcome is Proved if all expectations were proved in all trials, Refuted if one was refuted in one trial, and
	// Unknown otherwise.
	Outcome check.Outcome `json:"outcome"`
	// Trials is the number of good trials that were judged, Dropped how many of them were taken out of the comparison.
	Trials       int               `json:"trials"`
	Dropped      int               `json:"dropped,omitempty"`
	Expectations []ExpectationOver `json:"expectations"`
}

// ExpectationOver is one expectation over the trials of an arm.
type ExpectationOver struct {
	check.Expectation
	// Outcome is as in ArmProof.
	Outcome check.Outcome `json:"outcome"`
	// Proved, Refuted and Unknown are numbers of trials.
	Proved  int `json:"proved"`
	Refuted int `json:"refuted"`
	Unknown int `json:"unknown"`
	// Evidence is the sentence of the first trial with the outcome.
	Evidence string `json:"evidence"`
	// NotProved lists the first trials in which it was not proved, at most maxNotProved.
	NotProved []int `json:"not_proved,omitempty"`
}

// ArmPlaces are the places in which the sides of an arm were observed, without repetitions, in the order of the trials.
type ArmPlaces struct {
	Arm    string        `json:"arm"`
	Client []check.Place `json:"client"`
	Server []check.Place `json:"server"`
}

// Differing is a fact in which the hosts of an arm differ from those of the baseline.
type Differing struct {
	Arm string `json:"arm"`
	// Side is "client" or "server".
	Side string `json:"side"`
	// Fact is a path into check.Facts: "kernel", "path.mtu". "device" stands for the device of the path, "enslaved" for
	// the devices enslaved to it. Name is the fact in words.
	Fact string `json:"fact"`
	Name string `json:"name"`
	// Baseline and Value are what the hosts of the baseline and of the arm have; several values are separated by
	// commas.
	Baseline string `json:"baseline"`
	Value    string `json:"value"`
	// Declared says that the difference is a part of what the file declares to be different.
	Declared bool `json:"declared,omitempty"`
	// Matters says that the fact is known to change figures.
	Matters bool `json:"matters,omitempty"`
}
