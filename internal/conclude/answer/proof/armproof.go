package proof

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
