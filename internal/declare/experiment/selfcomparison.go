package experiment

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// SelfComparison says that an experiment compares one arm of another experiment with itself, on the same hosts.
type SelfComparison struct {
	// Of is the name of the other experiment, Arm the arm.
	Of  string `json:"of"`
	Arm string `json:"arm"`
	// Comparisons, Blocks and Deployments are the other experiment's: how many arms it compares with its baseline, and
	// its schedule.
	Comparisons int `json:"comparisons"`
	Blocks      int `json:"blocks"`
	Deployments int `json:"deployments,omitempty"`
	// Resolve is the difference that the user wants to find, as written: "5%".
	Resolve string `json:"resolve"`
	// Lengths has one entry for each workload of the other experiment, in the same order.
	Lengths []Lengths `json:"lengths"`
}

// Lengths are how long the trials of a workload can be.
type Lengths struct {
	Workload string `json:"workload"`
	// Short is the name of the workload that differs from it only in a shorter duration; empty for none.
	Short string `json:"short,omitempty"`
	// Durations are those that can be recommended, in increasing order. The workload's own is one of them.
	Durations []time.Duration `json:"durations"`
}

// SelfSuffix ends the name of an experiment that compares an arm with itself.
const SelfSuffix = "-baseline"

// Names that CompareWithSelf adds to an experiment.
const (
	againSuffix    = "-again"
	shortSuffix    = "-short"
	shortFraction  = 4 // a short trial is a quarter of a trial, or up to half of it where its tool takes whole seconds
	longestLengths = 4 // no recommended duration is longer than this many times the file's
	maxLengths     = 16
)

// CompareWithSelf gives the experiment that compares an arm of e with itself: two arms on the same hosts, with the
// values that the arm sets, the workloads of e, and each workload again with short trials if its tool can run them.
// It has as many trials of the baseline in a block as e, so that the differences scatter like those of e. Objectives
// are left out: they name arms.
func (e *Experiment) CompareWithSelf(arm, resolve string, blocks int, tools Tools) (*Experiment, error) {
	e = e.Unwatched()
	a, ok := e.Arm(arm)
	if !ok {
		return nil, fmt.Errorf("there is no arm %s", quote(arm))
	}
	if e.Imported {
		return nil, errors.New("the results were recorded elsewhere")
	}
	self := &SelfComparison{Of: e.Name, Arm: arm, Comparisons: max(1, len(e.Arms)-1), Blocks: e.Schedule.Blocks,
		Deployments: e.Schedule.Deployments, Resolve: resolve}
	names := map[string]bool{}
	for _, w := range e.Workloads {
		names[w.Name] = true
	}
	out := *e
	out.Name = suffixed(e.Name, SelfSuffix, nil)
	out.Question = fmt.Sprintf("Which differences can be seen on the hosts of %s, where there is none?", arm)
	out.Baseline, out.AskedAbout, out.Objectives, out.ObjectivesAt = arm, "", nil, nil
	out.Schedule.Blocks, out.Schedule.Deployments = blocks, 0
	out.Workloads = nil
	for _, w := range e.Workloads {
		w, _ = e.WorkloadIn(arm, w.Name)
		out.Workloads = append(out.Workloads, w)
		lengths := Lengths{Workload: w.Name, Durations: []time.Duration{w.Duration}}
		if short, ok := w.shortened(tools); ok {
			short.Name = suffixed(w.Name, shortSuffix, names)
			names[short.Name] = true
			out.Workloads = append(out.Workloads, short)
			lengths.Short, lengths.Durations = short.Name, w.durations(short.Duration, tools)
		}
		self.Lengths = append(self.Lengths, lengths)
	}
	a.Set, a.Workloads = nil, nil
	again := a
	again.Name, again.HostsFrom = suffixed(arm, againSuffix, map[string]bool{arm: true}), arm
	out.Arms, out.Hosts = []Arm{a, again}, nil
	for _, h := range e.Hosts {
		if h.Name == a.Client || h.Name == a.Server {
			out.Hosts = append(out.Hosts, h)
		}
	}
	out.SelfComparison = self
	return &out, out.Check()
}

// suffixed adds a suffix to a name. It cuts the name if the result is too long, and counts if the result is taken.
func suffixed(name, suffix string, taken map[string]bool) string {
	for n := 1; ; n++ {
		end := suffix
		if n > 1 {
			end = fmt.Sprintf("%s-%d", suffix, n)
		}
		if whole := name[:min(len(name), MaxName-len(end))] + end; !taken[whole] {
			return whole
		}
	}
}

// shortened gives the workload with a quarter of its duration, in whole seconds if its tool takes only these. The
// second result is false if the tool has no trials that are at most half as long, or if the workload's length is not
// its duration: it has steps, or counts iterations.
func (w Workload) shortened(tools Tools) (Workload, bool) {
	for _, k := range Keys() {
		if len(w.Steps) > 0 || k.fixed == sameEnd && k.Name != "duration" && k.given(w) {
			return w, false
		}
	}
	for _, step := range []time.Duration{time.Millisecond, time.Second} {
		short := w
		short.Duration = (w.Duration/shortFraction + step - 1).Truncate(step)
		if 2*short.Duration <= w.Duration && short.runnable(tools) {
			return short, true
		}
	}
	return w, false
}

// durations lists the durations from short on that the tool can run, in steps of a factor of about 2.
func (w Workload) durations(short time.Duration, tools Tools) []time.Duration {
	var all []time.Duration
	for d := short; d < w.Duration; d *= 2 {
		all = append(all, d)
	}
	for d := w.Duration; d <= longestLengths*w.Duration; d *= 2 {
		all = append(all, d)
	}
	return slices.DeleteFunc(all, func(d time.Duration) bool {
		other := w
		other.Duration = d
		return d != w.Duration && !other.runnable(tools)
	})
}

// check checks that the lists are not too long, and that they name workloads.
func (s *SelfComparison) check(c *Checker, workloads map[string]bool) {
	if s == nil {
		return
	}
	c.whole(AtValue("comparisons"), "comparisons", s.Comparisons, Range{1, MaxArms})
	c.whole(AtValue("blocks"), "blocks", s.Blocks, Range{0, MaxBlocks})
	if !c.Most(AtValue("lengths"), "lengths", len(s.Lengths), MaxWorkloads) {
		return
	}
	for i, l := range s.Lengths {
		at := AtValue("lengths", Item(i))
		if !workloads[l.Workload] || l.Short != "" && !workloads[l.Short] {
			c.wrong(at, "", "lengths of %s and %s, which are no workloads", quote(l.Workload), quote(l.Short))
		}
		if c.Most(at, "durations", len(l.Durations), maxLengths) &&
			slices.ContainsFunc(l.Durations, func(d time.Duration) bool { return d <= 0 }) {
			c.wrong(at, "", "a length of %s is not longer than 0", quote(l.Workload))
		}
	}
}

// SameButLength says whether two workloads measure the same and differ at most in name, duration and optional.
func (w Workload) SameButLength(o Workload) bool {
	w.Name, w.Duration, w.Optional = o.Name, o.Duration, o.Optional
	return written(w) == written(o)
}

// SameButRate says that two workloads measure the same, apart from the rate that they offer.
func (w Workload) SameButRate(o Workload) bool {
	w.Name, w.Question, w.OfferedRate, w.Optional = o.Name, o.Question, o.OfferedRate, o.Optional
	return written(w) == written(o)
}

// HostsIdentity identifies the hosts of an arm for a comparison with those of other experiments: how they are made or
// reached, and for hosts on the machine that runs nearfar its name.
func (e *Experiment) HostsIdentity(arm, machine string) string {
	a, _ := e.Arm(arm)
	client, _ := e.Host(a.Client)
	server, _ := e.Host(a.Server)
	for _, h := range []*HostSpec{&client, &server} {
		h.Folder, h.Command, h.Sudo, h.Silence, h.Tools = "", "", false, 0, nil
	}
	if a.Lab == nil && !client.Local && !server.Local {
		machine = ""
	}
	return written(struct {
		Machine        string
		Lab            *Lab
		Kubernetes     *Kubernetes
		Client, Server HostSpec
	}{machine, a.Lab, a.Kubernetes, client, server})
}
