package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
)

// judge checks what must be true of the answer to a lab. The error lists everything that is not.
func judge(text []byte, e *experiment.Experiment, cloud string) error {
	var a answer.Answer
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	var wrong []error
	if a.State != rundir.Complete {
		wrong = append(wrong, fmt.Errorf("the run is %s, and not %s", a.State, rundir.Complete))
	}
	for _, arm := range e.Arms {
		wrong = append(wrong, proved(a, arm), placed(a, arm.Name, cloud))
		if arm.Name == e.Baseline {
			continue
		}
		for _, w := range e.Workloads {
			if !hasInterval(a, arm.Name, w.Name) {
				wrong = append(wrong, fmt.Errorf("%s of %s has no difference with an interval", w.Name, arm.Name))
			}
		}
	}
	return errors.Join(wrong...)
}

// proved fails unless all expectations of an arm are proved in all trials.
func proved(a answer.Answer, arm experiment.Arm) error {
	if len(arm.Expect) == 0 {
		return fmt.Errorf("%s expects nothing that could be proved", arm.Name)
	}
	at := slices.IndexFunc(a.Proof, func(p proof.ArmProof) bool { return p.Arm == arm.Name })
	if at < 0 || a.Proof[at].Trials == 0 {
		return fmt.Errorf("nothing is known of the expectations of %s", arm.Name)
	}
	var wrong []error
	for _, x := range a.Proof[at].Expectations {
		if x.Outcome != check.Proved {
			wrong = append(wrong, fmt.Errorf("%s: %s is %s: %s", arm.Name, x.Text(), x.Counts(), x.Evidence))
		}
	}
	return errors.Join(wrong...)
}

// placed fails unless the cloud's metadata service has told where both sides of an arm are.
func placed(a answer.Answer, arm, cloud string) error {
	at := slices.IndexFunc(a.Places, func(p environment.ArmPlaces) bool { return p.Arm == arm })
	if at < 0 {
		return fmt.Errorf("nothing is known of where %s is", arm)
	}
	var wrong []error
	for side, places := range map[string][]check.Place{"client": a.Places[at].Client, "server": a.Places[at].Server} {
		known := func(p check.Place) bool {
			w := p.Where
			return w != nil && w.Cloud == cloud && w.InstanceID != "" && w.InstanceType != "" && w.Region != "" &&
				w.Problem == ""
		}
		if len(places) == 0 || !slices.ContainsFunc(places, known) {
			wrong = append(wrong, fmt.Errorf("the %s of %s: its instance, type and region in %s are not known", side,
				arm, cloud))
		}
	}
	return errors.Join(wrong...)
}

// hasInterval says whether a figure of an arm and a workload has an interval. One end may be missing: a trial without
// the figure, such as a stalled one, opens it on one side.
func hasInterval(a answer.Answer, arm, workload string) bool {
	return slices.ContainsFunc(a.Comparisons, func(c figures.Comparison) bool {
		return c.Arm == arm && c.Workload == workload && c.Interval != nil &&
			c.Unbounded != figures.UnboundedBoth
	})
}
