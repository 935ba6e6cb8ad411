// Package file reads the experiment file, and files of hosts, and says where in the text a mistake is. The rules are
// the model's (package experiment).
//
// It does no I/O: Parse takes the bytes of a file and its name.
package file

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// Parse reads an experiment file, checks it and fills in the defaults. The name of the file is for messages only; tools
// are the programs that workloads can use, at least one. Variables are not set; see ParseWith.
// The error is a *Mistakes with everything that is wrong in the file, in the order of the positions.
func Parse(filename string, data []byte, tools experiment.Tools) (*experiment.Experiment, error) {
	return ParseWith(filename, data, tools, Inputs{})
}

// experiment reads the whole file.
func (r *reader) experiment(e *experiment.Experiment, top *yaml.Node) {
	f, ok := r.fields(top, top, "the experiment", experiment.KeysOf("experiment"))
	if !ok {
		return
	}
	r.version(f)
	e.Name = r.experimentName(f)
	e.Question = r.question(f)
	r.known = r.hosts(f)
	e.Provision = r.provision(f)
	r.notMade(e.Provision, f)
	arms := r.comparedArms(f)
	e.Hosts = r.known.specs
	e.Baseline = r.baseline(f, arms)
	r.commonPlacement = f.named["placement"].value
	common := r.placement(f)
	if common != nil {
		r.check(f, func(c *experiment.Checker) { common.Check(c.In("placement")) })
	}
	workloads := r.workloads(f, common)
	r.sets(arms, workloads, common)
	for _, a := range arms {
		e.Arms = append(e.Arms, a.Arm)
	}
	r.twins(e, workloads, f)
	e.Schedule = r.schedule(f, len(e.Arms))
	f.Text("asked_about", "the name of an arm", &e.AskedAbout)
	experiment.Quantity(f, "additive_within", "5%", experiment.ParseRatio, &e.AdditiveWithin)
	e.Objectives, e.ObjectivesAt = r.objectives(f)
	e.Unproved = r.unproved(f, e)
	e.AskProviders = r.askProviders(f)
	r.check(f, e.CheckTop)
	if e.Schedule.Deployments == 1 {
		e.Schedule.Deployments = 0
	}
}

// comparedArms reads the arms and derives their layers.
func (r *reader) comparedArms(f fields) []parsedArm {
	before := r.count()
	parsed := r.arms(f)
	if r.count() > before { // layers need the paths
		return parsed
	}
	arms := make([]experiment.Arm, len(parsed))
	for i, p := range parsed {
		arms[i] = p.Arm
	}
	r.check(f, func(c *experiment.Checker) { experiment.UndeclaredLayers(c, arms) })
	experiment.DeriveLayers(arms)
	if d := (&experiment.Experiment{Arms: arms}).Design(); len(d.Layers) > experiment.MaxLayers {
		r.add(1, 1, fmt.Sprintf("the arms have %d different layers", len(d.Layers)),
			"at most "+strconv.Itoa(experiment.MaxLayers))
	} else {
		r.check(f, func(c *experiment.Checker) { experiment.Separable(c, d) })
	}
	for i := range parsed {
		parsed[i].Arm = arms[i]
	}
	return parsed
}

func (r *reader) version(f fields) {
	v, ok := r.required(f, "nearfar", "nearfar: "+experiment.Version)
	if !ok {
		return
	}
	if r.isScalar(v.value, "nearfar", experiment.Version) && v.value.Value != experiment.Version {
		r.wrong(v.value, "write nearfar: "+experiment.Version, "unknown version %s of the experiment file",
			quote(v.value.Value))
	}
}

func (r *reader) experimentName(f fields) string {
	v, ok := r.required(f, "name", "name: overlay")
	if !ok {
		return ""
	}
	name, _ := r.text(v.value, "name", "overlay")
	return name
}

func (r *reader) question(f fields) string {
	var question string
	f.Text("question", "What does a router add?", &question)
	return strings.TrimSpace(question)
}

// baseline reads the name of the arm that the others are compared with: by default the first.
func (r *reader) baseline(f fields, arms []parsedArm) string {
	var name string
	if !f.Text("baseline", "the name of an arm", &name) && len(arms) > 0 {
		name = arms[0].Name
	}
	return name
}

// schedule reads how often everything is run. One deployment is what a file has that says nothing.
func (r *reader) schedule(f fields, arms int) experiment.Schedule {
	s := experiment.Schedule{Blocks: experiment.DefaultBlocks(arms), Retries: experiment.DefaultRetries,
		BaselineRepeats: experiment.DefaultBaselineRepeats(arms)}
	v, ok := r.optional(f, "schedule")
	if !ok {
		return s
	}
	inner, ok := r.fields(v.value, v.key, "schedule", experiment.KeysOf("schedule"))
	if !ok {
		return s
	}
	inner.numbers(s.Numbers())
	if v, ok := r.optional(inner, "seed"); ok {
		s.Seed = r.seed(v.value)
	}
	return s
}

func (r *reader) seed(n *yaml.Node) uint64 {
	const hint = "write 0 to 18446744073709551615; 0, or no seed, draws one"
	if !r.isScalar(n, "seed", "1") {
		return 0
	}
	seed, err := strconv.ParseUint(n.Value, 10, 64)
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0
	if err != nil || quoted || strconv.FormatUint(seed, 10) != n.Value {
		r.wrong(n, hint, "seed must be a plain whole number, not %s", quote(n.Value))
	}
	return seed
}

// unproved reads what happens to trials with an expectation that is not proved. It is empty if no arm expects anything
// and the file does not set it.
func (r *reader) unproved(f fields, e *experiment.Experiment) string {
	word := ""
	if e.HasExpectations() {
		word = experiment.UnprovedKeep
	}
	if v, ok := r.optional(f, "unproved"); ok {
		word = r.scalar(v.value, "value of unproved", experiment.UnprovedKeep)
	}
	return word
}

// objectives reads the rules that a run must meet as texts, with their places. Package gate parses them, since this
// package does not know metrics.
func (r *reader) objectives(f fields) (texts []string, at []experiment.Position) {
	v, ok := r.optional(f, "objectives")
	const sample = `["rr rtt.p99 < 200us"]`
	if !ok || !r.isSequence(v.value, "objectives", sample) {
		return nil, nil
	}
	if !r.most(v.value, "objectives", len(v.value.Content), experiment.MaxObjectives) {
		return nil, nil
	}
	for _, n := range v.value.Content {
		text, ok := r.text(n, "an objective", `"rr rtt.p99 < 200us"`)
		if ok {
			texts, at = append(texts, text), append(at, r.position(n, text))
		}
	}
	return texts, at
}

// position gives the place where the text of a node begins, which is after its quote if it has one.
func (r *reader) position(n *yaml.Node, text string) experiment.Position {
	m := r.source.mistake(n.Line, n.Column, "", "")
	p := experiment.Position{File: m.File, Line: m.Line, Column: m.Column, Source: m.Source}
	line := []rune(m.Source)
	rest := string(line[min(m.Column-1, len(line)):])
	if i := strings.Index(rest, text); i >= 0 {
		p.Column += utf8.RuneCountInString(rest[:i])
	}
	return p
}

// askProviders reads the clouds whose providers are asked where they placed the hosts.
func (r *reader) askProviders(f fields) (clouds []string) {
	v, ok := r.optional(f, "ask_providers")
	if !ok || !r.isSequence(v.value, "ask_providers", "[azure]") {
		return nil
	}
	for _, n := range v.value.Content {
		clouds = append(clouds, r.scalar(n, "value of ask_providers", check.CloudAWS))
	}
	return clouds
}
