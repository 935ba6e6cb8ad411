// Package contrast sets two sources side by side: two runs, arms of runs, or results recorded elsewhere. It finds what
// measures the same thing on both sides, refuses what does not, and gives the differences.
package contrast

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// The kinds of sides.
const (
	Run  = "run"
	File = "file"
)

// Side is one of two sources.
type Side struct {
	// Name is what messages call it, Source what the user named.
	Name, Source string
	// Kind is Run or File.
	Kind string
	// ID is the place of the run: two sides with the same one are arms of one run.
	ID string
	// Experiment is what was declared; nil for a file.
	Experiment *experiment.Experiment
	// Arm and Workload are those that were asked for; empty for all.
	Arm      string
	Workload string
	State    string
	Started  time.Time
	Versions map[string]string
	// Machine names the machine that measured, where that is known.
	Machine string
	// Hosts are the facts of the hosts, as run.json has them.
	Hosts  json.RawMessage
	Trials []result.Trial
	// Warnings are those that whoever made the hosts has to give.
	Warnings []answer.Warning
	// Open opens a file of the run, such as a histogram; nil where there are none.
	Open func(name string) (io.ReadCloser, error)
	// parts are the runs of a side that has several.
	parts []*Side
}

// arms are those that take part, in the order of the declaration.
func (s *Side) arms() []string {
	if s.Arm != "" || s.Experiment == nil {
		return []string{s.Arm}
	}
	var names []string
	for _, a := range s.Experiment.Arms {
		names = append(names, a.Name)
	}
	return names
}

// group is the trials of one workload in one arm.
type group struct {
	workload string
	// good are the trials that have a result, in the order of execution; failed is how many others there are, and reason why
	// the first of them failed.
	good   []result.Trial
	failed int
	reason string
	// runs are the good trials of each run, where the side has several.
	runs [][]result.Trial
}

// groups sorts an arm's trials by workload, in the order of the declaration; those of a file by what they measure.
func (s *Side) groups(arm string) []group {
	if len(s.parts) > 0 {
		return s.mergedGroups(arm)
	}
	var all []group
	if s.Experiment != nil {
		for _, w := range s.Experiment.Workloads {
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
			continue // of no workload that was declared
		case at < 0:
			at = len(all)
			all = append(all, group{workload: name})
		}
		if g := &all[at]; t.Error == "" {
			g.good = append(g.good, t)
		} else if g.failed++; g.reason == "" {
			g.reason = t.Error
		}
	}
	for _, g := range all {
		slices.SortStableFunc(g.good, func(a, b result.Trial) int { return a.Trial - b.Trial })
	}
	return slices.DeleteFunc(all, func(g group) bool {
		return len(g.good) == 0 && g.failed == 0 || s.Workload != "" && g.workload != s.Workload
	})
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
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, " ")
}

// measuredHere says that the side was declared and measured by nearfar, and not recorded elsewhere.
func (s *Side) measuredHere() bool { return s.Experiment != nil && !s.Experiment.Imported }

// declared finds a workload's declaration in an arm; results recorded elsewhere have none.
func (s *Side) declared(arm, workload string) (experiment.Workload, bool) {
	if !s.measuredHere() {
		return experiment.Workload{}, false
	}
	return s.Experiment.WorkloadIn(arm, workload)
}

// setOtherwise lists the keys in which two arms differ because one of them, or both, set them.
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

// source is the side as the answer has it.
func (s *Side) source() answer.Source {
	source := answer.Source{
		Side: s.Name, Source: s.Source, Kind: s.Kind, State: s.State, Started: s.Started, Arms: s.arms(), Versions: s.Versions,
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
