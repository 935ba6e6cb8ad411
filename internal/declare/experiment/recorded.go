package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Recorded makes the declaration of results that were recorded elsewhere. It is not known how the hosts were made and
// in which order the trials ran: the trials belong to no block (their block is 0), the schedule is empty, and nothing
// can be run again. A caller that knows the order sets Paired, the blocks of the trials and the schedule's number of
// blocks.
//
// If baseline is empty, it is the first arm. The error says what is wrong, and what would be right.
func Recorded(name, question, baseline string, arms []string, workloads []Workload) (*Experiment, error) {
	if !IsName(name) {
		return nil, fmt.Errorf("%s is no name of a run: %s", quote(name), nameRule())
	}
	if n := utf8.RuneCountInString(question); n > maxQuestion {
		return nil, fmt.Errorf("the question has %d characters; at most %d", n, maxQuestion)
	}
	e := &Experiment{Name: name, Question: question, Baseline: baseline, Workloads: workloads, Imported: true}
	for i, arm := range arms {
		if !IsName(arm) {
			return nil, fmt.Errorf("%s is no name of an arm: %s", quote(arm), nameRule())
		}
		if slices.Contains(arms[:i], arm) {
			return nil, fmt.Errorf("arm %s is there twice", quote(arm))
		}
		e.Arms = append(e.Arms, Arm{Name: arm, Layers: map[string]int{}})
	}
	switch {
	case len(arms) == 0:
		return nil, errors.New("there are no arms")
	case len(arms) > maxArms:
		return nil, fmt.Errorf("there are %d arms; at most %d", len(arms), maxArms)
	case len(workloads) > maxWorkloads:
		return nil, fmt.Errorf("there are %d workloads; at most %d", len(workloads), maxWorkloads)
	case baseline == "":
		e.Baseline = arms[0]
	case !slices.Contains(arms, baseline):
		return nil, fmt.Errorf("the baseline %s is no arm: the arms are %s", quote(baseline), strings.Join(arms, ", "))
	}
	for _, w := range workloads {
		if !IsName(w.Name) {
			return nil, fmt.Errorf("%s is no name of a workload: %s", quote(w.Name), nameRule())
		}
	}
	return e, nil
}
