// Package contrast compares two sources: two runs, arms of runs, or imported results. It finds pairs that measure the
// same thing on both sides, refuses others, and computes the differences.
package contrast

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The kinds of sides.
const (
	Run  = "run"
	File = "file"
)

// Side is one of two sources.
type Side struct {
	// Name is the name in messages, Source what the user wrote.
	Name, Source string
	// Kind is Run or File.
	Kind string
	// ID is the path of the run: two sides with the same one are arms of one run.
	ID string
	// Experiment is the declaration; nil for a file.
	Experiment *experiment.Experiment
	// Arm and Workload are the requested ones; empty for all.
	Arm      string
	Workload string
	State    string
	Started  time.Time
	Versions map[string]string
	// Machine names the machine that measured, if known.
	Machine string
	// Hosts holds the facts of the hosts, as in run.json.
	Hosts  json.RawMessage
	Trials []result.Trial
	// Warnings come from the code that made the hosts.
	Warnings []answer.Warning
	// Open opens a file of the run, such as a histogram; nil if there are none.
	Open func(name string) (io.ReadCloser, error)
	// parts are the runs of a side with several runs.
	parts []*Side
}

// arms are the arms to compare, in the order of the declaration.
func (s *Side) arms() []string {
	if s.Arm != "" || s.Experiment == nil {
		return []string{s.Arm}
	}
	return s.Experiment.ArmNames()
}

// group is the trials of one workload in one arm.
type group struct {
	workload string
	// good are the trials with a result, in the order of execution. failed is the number of others, and reason the
	// first one's error. attempts are the first attempts, also those that failed; comparisons use these.
	good, attempts []result.Trial
	failed         int
	reason         string
	// dropped is how many good trials are left out because they are not proved to be what their arm claims. unproved
	// says what is not proved of the remaining trials; empty if all is proved.
	dropped  int
	unproved string
	// runs are the good trials of each run, if the side has several; tries are the first attempts.
	runs, tries [][]result.Trial
}

// groups groups an arm's trials by workload, in the order of the declaration. Trials of a file are grouped by what
// they measure.
func (s *Side) groups(arm string) []group {
	if len(s.parts) > 0 {
		return s.mergedGroups(arm)
	}
	var all []group
	if s.Experiment != nil {
		for _, w := range s.Experiment.Unwatched().Workloads {
			all = append(all, group{workload: w.Name})
		}
	}
	for _, t := range s.Trials {
		if s.Experiment != nil && t.Arm != arm {
			continue
		}
		name := t.Workload
		if s.Experiment == nil {
			name = describe(t)
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.workload == name })
		switch {
		case at < 0 && s.Experiment != nil:
			continue // of an undeclared workload
		case at < 0:
			at = len(all)
			all = append(all, group{workload: name})
		}
		if g := &all[at]; s.Experiment != nil && !proof.IsCompared(s.Experiment, t) {
			g.dropped++
		} else {
			g.add(t)
		}
	}
	for i, g := range all {
		byNumber := func(a, b result.Trial) int { return a.Trial - b.Trial }
		slices.SortStableFunc(g.good, byNumber)
		slices.SortStableFunc(g.attempts, byNumber)
		all[i].unproved = s.proof(arm, g.good).Text()
	}
	return slices.DeleteFunc(all, func(g group) bool {
		return len(g.good) == 0 && g.failed == 0 && g.dropped == 0 || s.Workload != "" && g.workload != s.Workload
	})
}

// add adds a trial.
func (g *group) add(t result.Trial) {
	if t.Replaces == 0 {
		g.attempts = append(g.attempts, t)
	}
	if t.Error == "" {
		g.good = append(g.good, t)
	} else if g.failed++; g.reason == "" {
		g.reason = t.Error
	}
}

// proof sums up what trials say about the expectations of an arm.
func (s *Side) proof(name string, trials []result.Trial) proof.ArmProof {
	if s.Experiment == nil {
		return proof.ArmProof{}
	}
	arm, _ := s.Experiment.Arm(name)
	return proof.Of(arm, trials)
}

// describe says what a trial measures: "sockperf rr tcp 1400 B".
func describe(t result.Trial) string {
	parts := []string{t.Tool.Name, t.Mode, t.Protocol}
	if t.Mode == t.Tool.Name {
		parts[1] = ""
	}
	if t.MessageBytes != nil {
		parts = append(parts, fmt.Sprintf("%d B", *t.MessageBytes))
	}
	parts = append(parts, t.Facts[result.FactSetting])
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, " ")
}

// measuredHere says whether nearfar declared and measured the side; otherwise it was recorded by another program.
func (s *Side) measuredHere() bool { return s.Experiment != nil && !s.Experiment.Imported }

// declared finds a workload's declaration in an arm; imported results have none.
func (s *Side) declared(arm, workload string) (experiment.Workload, bool) {
	if !s.measuredHere() {
		return experiment.Workload{}, false
	}
	return s.Experiment.WorkloadIn(arm, workload)
}

// setOtherwise lists the keys in which two arms differ because at least one of them sets them.
func (c *Contrast) setOtherwise(p *Pair) []string {
	b, ok := c.Base.declared(p.BaseArm, p.base.workload)
	n, both := c.New.declared(p.NewArm, p.new.workload)
	if !ok || !both {
		return nil
	}
	keys := slices.Sorted(maps.Keys(c.Base.Experiment.SetIn(p.BaseArm, p.base.workload)))
	keys = slices.AppendSeq(keys, maps.Keys(c.New.Experiment.SetIn(p.NewArm, p.new.workload)))
	return slices.DeleteFunc(keys, func(key string) bool { return b.Value(key) == n.Value(key) })
}

// source describes the side for an answer.
func (s *Side) source() answer.Source {
	source := answer.Source{
		Side: s.Name, Source: s.Source, Kind: s.Kind, State: s.State, Started: s.Started,
		Arms: s.arms(), Versions: s.Versions,
	}
	if s.Experiment != nil {
		source.Name, source.Blocks = s.Experiment.Name, s.Experiment.Schedule.Blocks
	}
	for _, part := range s.parts {
		source.Runs = append(source.Runs, part.Source)
	}
	for _, t := range s.Trials {
		if s.Experiment != nil && !slices.Contains(source.Arms, t.Arm) {
			continue
		}
		source.Trials++
		if t.Error != "" {
			source.Failed++
		}
	}
	return source
}
