package experiment

import (
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
	c := newChecker()
	c.Name(AtValue(), "a run", name)
	if n := utf8.RuneCountInString(question); n > maxQuestion {
		c.wrong(AtValue(), fmt.Sprintf("at most %d", maxQuestion), "the question has %d characters", n)
	}
	e := &Experiment{Name: name, Question: question, Baseline: baseline, Workloads: workloads, Imported: true}
	for _, arm := range arms {
		c.Name(AtValue(), "an arm", arm)
		e.Arms = append(e.Arms, Arm{Name: arm, Layers: map[string]int{}})
	}
	for _, w := range workloads {
		c.Name(AtValue(), "a workload", w.Name)
	}
	switch {
	case c.count() > 0:
		return nil, c.err()
	case baseline == "" && len(arms) > 0:
		e.Baseline = arms[0]
	case !slices.Contains(arms, baseline) && len(arms) > 0:
		return nil, fmt.Errorf("the baseline %s is no arm: the arms are %s", quote(baseline), strings.Join(arms, ", "))
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	return e, nil
}
