package answer

import (
	"fmt"
	"strings"

	"nearfar/internal/conclude/answer/captured"
	"nearfar/internal/conclude/answer/inside"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// LookAtCaptures adds what was captured, from the trials of captured twins. The rest of the answer is made without
// these trials. They are those that may be compared (proof.Compared).
func (a *Answer) LookAtCaptures(e *experiment.Experiment, trials []result.Trial) {
	for _, w := range e.Workloads {
		twin, ok := e.CapturedTwin(w.Name)
		if !ok {
			continue
		}
		q := a.quantityWith(w.Name, twin.Name, trials)
		made := captured.Of(captured.Input{
			Workload: w.Name, Captured: twin.Name, Quantity: q.Name(), Value: q.Of, Arms: e.ArmNames(), Trials: trials,
		})
		a.Captured = append(a.Captured, made)
		for _, arm := range made.Arms {
			if why := notCaptured(arm); why != "" {
				a.Warnings = append(a.Warnings, Warning{Code: "capture-unknown", Arm: arm.Arm, Workload: w.Name, Message: why})
			}
		}
	}
}

// notCaptured says why packets of an arm were not captured, or not in all trials; empty if all were.
func notCaptured(arm captured.Arm) string {
	switch {
	case arm.Trials == 0:
		return "no packets were captured: no captured trial was good"
	case len(arm.Problems) == 0:
		return ""
	}
	what := "no packets were captured"
	if len(arm.Machines) > 0 {
		what = "not all packets were captured"
	}
	return what + ": " + problemsText(arm.Problems, arm.Trials)
}

// problemsText lists what went wrong, and in how many of the trials.
func problemsText(problems []inside.Problem, trials int) string {
	var texts []string
	for _, p := range problems {
		text := fmt.Sprintf("%s (%d of %d trials)", p.Text, p.Trials, trials)
		if p.Side == "client" || p.Side == "server" {
			text = p.Side + ": " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
