package cli

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/deploy"
)

// expected is the judgement of an expectation before any trial.
type expected struct {
	Arm string `json:"arm"`
	check.Judgement
}

// judgeFacts judges the expectations of all arms by the facts of their hosts alone. An expectation that needs counters
// of a trial is unknown.
func judgeFacts(e *experiment.Experiment, found []deploy.HostFacts) []expected {
	of := func(side string) check.Side {
		at := slices.IndexFunc(found, func(h deploy.HostFacts) bool { return slices.Contains(h.Sides, side) })
		if at < 0 || found[at].Facts == nil {
			return check.Side{}
		}
		return check.Side{Facts: found[at].Facts}
	}
	var all []expected
	for _, arm := range e.Arms {
		t := check.Trial{Client: of(arm.Name + "/client"), Server: of(arm.Name + "/server"), Protocol: experiment.TCP}
		if arm.Kubernetes != nil {
			t.Client, t.Server = withoutKernel(t.Client), withoutKernel(t.Server)
		}
		for _, x := range arm.Expect {
			all = append(all, expected{arm.Name, check.Judge(x, t)})
		}
	}
	return all
}

// withoutKernel is a side whose kernel is not known: pods on one kernel can be on different nodes, whose names only a
// run knows.
func withoutKernel(s check.Side) check.Side {
	if s.Facts != nil {
		f := *s.Facts
		f.BootID = ""
		s.Facts = &f
	}
	return s
}

// writeExpected lists the judgements.
func writeExpected(text *strings.Builder, all []expected) {
	if len(all) == 0 {
		return
	}
	text.WriteString("\nExpectations, before any trial (counters that are read in a run can prove more)\n")
	for _, x := range all {
		fmt.Fprintf(text, "  %s: %s is %s: %s\n", x.Arm, clean.Line(x.Text()), x.Outcome, clean.Line(x.Evidence))
	}
}

// refutedExpectations is the error for expectations that the facts refute; nil if there are none.
func refutedExpectations(all []expected) error {
	var refuted []string
	for _, x := range all {
		if x.Outcome == check.Refuted {
			refuted = append(refuted, x.Arm+": "+clean.Line(x.Text())+" is refuted: "+clean.Line(x.Evidence))
		}
	}
	if len(refuted) == 0 {
		return nil
	}
	return &unprovedError{strings.Join(refuted, "\n"), "A run would end with exit code 4."}
}
