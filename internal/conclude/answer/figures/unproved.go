package figures

import (
	"fmt"

	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
)

// unprovedIn says whether an arm is not proved in the compared trials of a workload.
func (c Cells) unprovedIn(e *experiment.Experiment, name string) string {
	arm, _ := e.Arm(name)
	return proof.Of(arm, c.Good[name]).Text()
}

// MarkUnproved sets Unproved of comparisons and layers, and says where dropped trials left nothing to compare.
func (f *Figures) MarkUnproved(e *experiment.Experiment, proofs []proof.ArmProof, tables []Cells) {
	if !e.HasExpectations() {
		return
	}
	texts := map[string]map[string]string{} // by workload and arm
	for _, c := range tables {
		if texts[c.Workload] != nil {
			continue
		}
		texts[c.Workload] = map[string]string{}
		for _, arm := range e.Arms {
			texts[c.Workload][arm.Name] = c.unprovedIn(e, arm.Name)
		}
	}
	for i := range f.Comparisons {
		c := &f.Comparisons[i]
		c.Unproved = proof.Joined(texts[c.Workload][c.Arm], texts[c.Workload][c.Baseline])
		if c.Reason == noGoodTrials {
			c.allDropped(proofs)
		}
	}
	for i := range f.Layers {
		l := &f.Layers[i]
		var of []string
		for _, arm := range e.Arms {
			if l.Arm == "" || arm.Name == l.Arm || arm.Name == e.Baseline {
				of = append(of, texts[l.Workload][arm.Name])
			}
		}
		l.Unproved = proof.Joined(of...)
	}
}

// allDropped says why a side of a comparison has no good trial left, if all of them were dropped.
func (c *Comparison) allDropped(all []proof.ArmProof) {
	for _, p := range all {
		if (p.Arm == c.Arm || p.Arm == c.Baseline) && p.Dropped > 0 && p.Dropped == p.Trials {
			c.Reason = fmt.Sprintf("all %d trials of %s are dropped, because %s is not proved to be what it claims",
				p.Trials, p.Arm, p.Arm)
		}
	}
}
