package contrast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// maxNotes bounds the number of tool notes in an answer.
const maxNotes = 50

// warnings gives all warnings of a comparison.
func (c *Contrast) warnings(entries []entry) []answer.Warning {
	w := c.Warnings()
	for _, e := range entries {
		if e.pair.Refused == "" {
			w = append(w, e.pair.MissingWarnings(e.quantity)...)
		}
	}
	w = append(w, c.modes(entries)...)
	return append(w, c.notes()...)
}

// Warnings gives the warnings about the two sides that do not depend on the quantity.
func (c *Contrast) Warnings() []answer.Warning {
	w := c.apart()
	for _, s := range c.sides() {
		if s.State != "" && s.State != "complete" {
			w = append(w, answer.Warning{Code: "incomplete",
				Message: fmt.Sprintf("%s is %s: not all of its trials are there", s.Name, s.State)})
		}
	}
	w = append(w, c.oneSided()...)
	w = append(w, c.failures()...)
	w = append(w, c.expectations()...)
	for i := range c.Pairs {
		if p := &c.Pairs[i]; p.Missing == "" && p.Refused == "" {
			w = append(w, c.pairWarnings(p)...)
		}
	}
	return append(merged(w), c.hosts()...)
}

// merged merges equal warnings of several arms into one.
func merged(all []answer.Warning) []answer.Warning {
	arms := map[answer.Warning][]string{}
	without := func(w answer.Warning) answer.Warning {
		w.Arm = ""
		return w
	}
	for _, w := range all {
		arms[without(w)] = append(arms[without(w)], w.Arm)
	}
	var kept []answer.Warning
	for _, w := range all {
		of := arms[without(w)]
		if w.Arm != "" && len(of) > 1 {
			w = without(w)
			w.Message += " (" + strings.Join(of, ", ") + ")"
		}
		if !slices.Contains(kept, w) {
			kept = append(kept, w)
		}
	}
	return kept
}

// apart warns of differences between the sides that no interval includes.
func (c *Contrast) apart() []answer.Warning {
	if c.alone && c.Base.Experiment == nil || c.several() ||
		c.Base.ID != "" && c.Base.ID == c.New.ID && !c.Base.Experiment.Unpaired() {
		return nil
	}
	if c.recorded() {
		return []answer.Warning{{Code: "not-paired",
			Message: "the trials share no blocks: other differences between the two (machine, " +
				"time, neighbours) are part of the differences, but not of the intervals"}}
	}
	if runs := c.history(); runs > 0 {
		return []answer.Warning{{Code: "two-runs",
			Message: fmt.Sprintf("the two runs were made at different times, on hosts that were set up again: the "+
				"intervals include the scatter between runs, as estimated from %d other runs of the history", runs)}}
	}
	return []answer.Warning{{Code: "two-runs",
		Message: "the two runs were made at different times, on hosts that were set up again: other " +
			"changes between them are part of the differences, and the intervals do not include the scatter between " +
			"runs"}}
}

// oneSided warns of arms and workloads without a counterpart.
func (c *Contrast) oneSided() []answer.Warning {
	var w []answer.Warning
	if c.alone {
		return nil
	}
	for _, p := range c.Pairs {
		if p.Missing == "" {
			continue
		}
		arm := p.NewArm
		has := c.New.Name
		if p.Missing == c.New.Name {
			arm, has = p.BaseArm, c.Base.Name
		}
		w = append(w, answer.Warning{Code: "one-side-only", Arm: arm, Workload: p.Workload,
			Message: fmt.Sprintf("only in %s; %s has nothing to compare it with", has, p.Missing)})
	}
	return w
}

func (c *Contrast) failures() []answer.Warning {
	var w []answer.Warning
	add := func(s *Side, arm string, g group) {
		if g.failed > 0 {
			w = append(w, answer.Warning{Code: "failed-trials", Arm: arm, Workload: g.workload, Message: fmt.Sprintf(
				"%d of %d trials of %s failed; the first: %s", g.failed, g.failed+len(g.good),
				s.Name, shorten(g.reason))})
		}
	}
	for _, p := range c.Pairs {
		if !c.alone {
			add(c.Base, p.BaseArm, p.base)
		}
		add(c.New, p.NewArm, p.new)
	}
	return unique(w)
}

// shorten cuts a text from a host or a tool for a message.
func shorten(s string) string { return prose.Shorten(s, 300) }

// pairWarnings warns of differences between two groups of trials that still measure the same thing.
func (c *Contrast) pairWarnings(p *Pair) []answer.Warning {
	if c.otherWorkloads() {
		return c.workloadWarnings(p)
	}
	var w []answer.Warning
	say := func(code, format string, args ...any) {
		w = append(w, answer.Warning{Code: code, Arm: p.NewArm, Workload: p.Workload,
			Message: fmt.Sprintf(format, args...)})
	}
	set := c.setOtherwise(p)
	differs := func(code, what string, of func(result.Trial) string) {
		if key := strings.TrimSuffix(strings.Replace(code, "waiting", "wait", 1),
			"-differs"); slices.Contains(set, key) {
			return // the arms set it: it is compared
		}
		b, n := figures.Distinct(p.base.good, of), figures.Distinct(p.new.good, of)
		if !slices.Equal(b, n) {
			say(code, "%s: %s in %s, %s in %s", what, named(n), c.New.Name, named(b), c.Base.Name)
		}
	}
	if b, n := figures.Distinct(p.base.good, toolName), figures.Distinct(p.new.good, toolName); !slices.Equal(b, n) {
		say("tools-differ", "%s was measured with %s, %s with %s: part of the difference comes from the tools",
			c.New.Name, list(n), c.Base.Name, list(b))
	} else {
		differs("versions-differ", "version of "+list(b), func(t result.Trial) string { return t.Tool.Version })
	}
	differs("reported-as-differs", "what the tool printed, all of it full round trips or rates here",
		func(t result.Trial) string { return t.ReportedAs })
	differs("waiting-differs", "how client and server waited for messages", environment.Waiting)
	if figures.Distinct(p.new.good, size)[0] == "" {
		say("size-unknown", "neither side says how long the messages were")
	}
	differs("placement-differs", "placement on the CPUs", func(t result.Trial) string { return t.Facts["placement"] })
	differs("io-differs", "how messages were sent and received", func(t result.Trial) string { return t.Facts["io"] })
	if b, ok := c.Base.declared(p.BaseArm, p.base.workload); ok {
		if n, ok := c.New.declared(p.NewArm, p.new.workload); ok {
			if reasons := measuredOtherwise(b, n, set); len(reasons) > 0 {
				say("workload-differs", "declared otherwise in %s than in %s: %s", c.New.Name, c.Base.Name,
					strings.Join(reasons, "; "))
			}
		}
	}
	if b, n := c.Base.path(p.BaseArm, p.base.workload), c.New.path(p.NewArm, p.new.workload); p.BaseArm == p.NewArm &&
		b != "" && n != "" && b != n {
		say("arm-differs", "the arm is another one: %s in %s, %s in %s", n, c.New.Name, b, c.Base.Name)
	}
	return w
}

func toolName(t result.Trial) string { return t.Tool.Name }

// size is the message size; empty if unknown, "none" if it has no meaning.
func size(t result.Trial) string {
	if t.MessageBytes != nil {
		return fmt.Sprint(*t.MessageBytes)
	}
	if t.Definition == result.DefinitionRTT || result.TimesResponses(t.Definition) {
		return ""
	}
	return "none"
}

// named lists values for a message; empty ones are unknown.
func named(values []string) string {
	shown := slices.Clone(values)
	for i := range shown {
		shown[i] = cmp.Or(shown[i], "unknown")
	}
	if len(shown) > 5 {
		shown = append(shown[:5], "...")
	}
	return list(shown)
}

// path describes which hosts an arm has, or how they are made, and what it sets of a workload, in one line.
func (s *Side) path(arm, workload string) string {
	if !s.measuredHere() {
		return ""
	}
	a, ok := s.Experiment.Arm(arm)
	if !ok {
		return ""
	}
	path := written(a.Layers)
	if a.Lab != nil {
		path = written(a.Lab)
	}
	if a.Kubernetes != nil {
		path = a.HostsText()
	} else if client, ok := s.Experiment.Host(a.Client); ok {
		server, _ := s.Experiment.Host(a.Server)
		path = "from " + client.Name + " (" + client.String() + ") to " + server.Name + " (" + server.String() + ")"
	}
	set := s.Experiment.SetIn(arm, workload)
	for i, key := range slices.Sorted(maps.Keys(set)) {
		path += []string{" with ", ", "}[min(i, 1)] + key + " " + set[key]
	}
	return path
}

// modes warns of modes and drift in each workload's first quantity, so that one cause gives one warning.
func (c *Contrast) modes(entries []entry) []answer.Warning {
	var w []answer.Warning
	for _, e := range entries {
		if e.primary && e.pair.Refused == "" {
			w = append(w, c.Modes(e.pair, e.quantity)...)
		}
	}
	return unique(w)
}

// Modes warns of trials that fall into two groups, of trials that are all equal, and of drift.
func (c *Contrast) Modes(p *Pair, q figures.Quantity) []answer.Warning {
	return append(modesOf(c.Base, p.BaseArm, p.base, q), modesOf(c.New, p.NewArm, p.new, q)...)
}

func modesOf(s *Side, arm string, g group, q figures.Quantity) []answer.Warning {
	var w []answer.Warning
	if g.runs != nil {
		return nil // there are too few runs to judge
	}
	say := func(code, format string, args ...any) {
		w = append(w, answer.Warning{Code: code, Arm: arm, Workload: g.workload, Message: s.Name + ": " +
			fmt.Sprintf(format, args...)})
	}
	all := stats.Numbers(values(g, q))
	if f, ok := stats.Bimodal(all); ok {
		say(f.Code, "the trials fall into two groups in %s: %.0f around %s and %.0f around %s",
			q.Name(), f.Facts["below"],
			result.Amount(f.Facts["low"], q.Unit), f.Facts["above"], result.Amount(f.Facts["high"], q.Unit))
	}
	if f, ok := stats.ZeroSpread(all); ok {
		say(f.Code, "all %.0f trials gave the same %s: the tool rounds more coarsely than the trials differ",
			f.Facts["trials"], q.Name())
	}
	if !s.measuredHere() {
		return w
	}
	if f, ok := stats.Drift(values(g, q), stats.Summarize(all).Median.Value); ok {
		say(f.Code, "%s changed from %s in the first third of the blocks to %s in the last", q.Name(),
			result.Amount(f.Facts["first"], q.Unit), result.Amount(f.Facts["last"], q.Unit))
	}
	return w
}

// notes repeats the notes of the tools' outputs, once each.
func (c *Contrast) notes() []answer.Warning {
	var w []answer.Warning
	for _, p := range c.Pairs {
		for _, side := range []struct {
			name string
			of   group
		}{{c.Base.Name, p.base}, {c.New.Name, p.new}} {
			for _, t := range side.of.good {
				for _, note := range t.Notes {
					one := answer.Warning{Code: "note", Workload: side.of.workload, Message: side.name + ": " +
						shorten(note)}
					if len(w) < maxNotes && !slices.Contains(w, one) {
						w = append(w, one)
					}
				}
			}
		}
	}
	return w
}

// hosts warns of known differences between the machines of two runs.
func (c *Contrast) hosts() []answer.Warning {
	if !c.alone && c.Base.ID != "" && c.Base.ID == c.New.ID {
		return nil
	}
	var w []answer.Warning
	var arms [][2]string
	for _, p := range c.Pairs {
		if pair := [2]string{p.BaseArm, p.NewArm}; !c.alone && p.Missing == "" && !slices.Contains(arms, pair) {
			arms = append(arms, pair)
		}
	}
	base, other := environment.HostsOf{Machine: c.Base.Machine, Hosts: c.Base.Hosts},
		environment.HostsOf{Machine: c.New.Machine, Hosts: c.New.Hosts}
	for _, line := range environment.DifferingHosts(base, other, arms) {
		w = append(w, answer.Warning{Code: "hosts-differ", Message: shorten(line)})
	}
	if b, n := c.Base.Versions["nearfar"], c.New.Versions["nearfar"]; b != n && b != "" && n != "" {
		w = append(w, answer.Warning{Code: "versions-differ",
			Message: fmt.Sprintf("version of nearfar: %s in %s, %s in %s", n, c.New.Name, b, c.Base.Name)})
	}
	for _, s := range c.sides() {
		for _, one := range s.Warnings {
			one.Message = s.Name + ": " + one.Message
			w = append(w, one)
		}
	}
	return w
}

// unique drops repeated warnings.
func unique(all []answer.Warning) []answer.Warning {
	var kept []answer.Warning
	for _, w := range all {
		if !slices.Contains(kept, w) {
			kept = append(kept, w)
		}
	}
	return kept
}
