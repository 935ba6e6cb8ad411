package proof

import "nearfar/internal/declare/check"

// Proofs is the part of an answer about proof.
type Proofs struct {
	// Proof says for each arm with expectations whether it was what it claims; see Unproved.
	Proof []ArmProof `json:"proof,omitempty"`
	// Unproved says in a sentence which arms are not proved to be what they claim; empty if there is none. The exit
	// code of a run is then 4, unless it allows that.
	Unproved string `json:"unproved,omitempty"`
	// Unverified says that Unproved was allowed (--allow-unverified); see AllowUnverified.
	Unverified string `json:"unverified,omitempty"`
}

// AllowUnverified says in Unverified that the arms that are not proved were allowed. It does nothing if all are proved.
func (p *Proofs) AllowUnverified() {
	if p.Unproved != "" {
		p.Unverified = "Unverified, as --allow-unverified permits: " + p.Unproved
	}
}

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
