package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// MaxBlocks is the greatest number of blocks, and MaxTrials the greatest number of trials.
const (
	MaxBlocks = 10_000
	MaxTrials = 100_000
)

// Version is the version of the file format that this build reads (the key nearfar).
const Version = "v1"

// Limits of an experiment.
const (
	maxArms      = 100
	maxWorkloads = 100
	maxQuestion  = 1000 // characters
)

func experimentKeys() []string {
	return []string{"nearfar", "name", "question", "baseline", "hosts", "provision", "arms", "workloads", "placement",
		"schedule", "asked_about", "additive_within", "objectives", "unproved", "ask_providers"}
}

func scheduleKeys() []string {
	return []string{"blocks", "baseline_repeats", "retries", "seed", "deployments"}
}

// Parse reads an experiment file, checks it and fills in the defaults. The name of the file is for messages only; tools
// are the programs that workloads can use, at least one. Variables are not set; see ParseWith.
// The error is a *Mistakes with everything that is wrong in the file, in the order of the positions.
func Parse(filename string, data []byte, tools Tools) (*Experiment, error) {
	return ParseWith(filename, data, tools, Inputs{})
}

// experiment reads the whole file.
func (r *reader) experiment(e *Experiment, top *yaml.Node) {
	f, ok := r.fields(top, top, "the experiment", experimentKeys())
	if !ok {
		return
	}
	r.version(f)
	e.Name = r.experimentName(f)
	e.Question = r.question(f)
	r.known = r.hosts(f)
	e.Provision = r.provision(f)
	r.known.replaced = e.Provision != nil && len(e.Provision.Replace) > 0
	r.notMade(e.Provision, f)
	arms := r.comparedArms(f)
	e.Hosts = r.known.specs
	e.Baseline = r.baseline(f)
	r.commonPlacement = f.named["placement"].value
	common := r.placement(f)
	workloads := r.workloads(f, common)
	r.sets(arms, workloads, common)
	for _, a := range arms {
		e.Arms = append(e.Arms, a.Arm)
	}
	for _, w := range workloads {
		e.Workloads = append(e.Workloads, w.Workload)
	}
	e.Schedule = r.schedule(f, e.Arms, len(e.Workloads))
	e.AskedAbout = r.askedAbout(f, e.Baseline)
	e.AdditiveWithin = r.additiveWithin(f)
	e.Objectives, e.ObjectivesAt = r.objectives(f)
	e.Unproved = r.unproved(f, e)
	e.AskProviders = r.askProviders(f, e)
}

// comparedArms reads the arms and derives their layers.
func (r *reader) comparedArms(f fields) []parsedArm {
	before := r.count()
	parsed := r.arms(f)
	if r.count() > before { // layers need the paths
		return parsed
	}
	r.undeclaredLayers(parsed)
	arms := make([]Arm, len(parsed))
	for i, p := range parsed {
		arms[i] = p.Arm
	}
	deriveLayers(arms)
	r.separable(arms, parsed)
	for i := range parsed {
		parsed[i].Arm = arms[i]
	}
	return parsed
}

func (r *reader) version(f fields) {
	v, ok := r.required(f, "nearfar", "nearfar: "+Version)
	if !ok {
		return
	}
	if r.isScalar(v.value, "nearfar", Version) && v.value.Value != Version {
		r.wrong(v.value, "write nearfar: "+Version, "unknown version %s of the experiment file", quote(v.value.Value))
	}
}

func (r *reader) experimentName(f fields) string {
	v, ok := r.required(f, "name", "name: overlay")
	if !ok {
		return ""
	}
	name, ok := r.text(v.value, "name", "overlay")
	if !ok || !r.name(v.value, "an experiment", name) {
		return ""
	}
	return name
}

func (r *reader) question(f fields) string {
	v, ok := r.optional(f, "question")
	if !ok {
		return ""
	}
	question, ok := r.text(v.value, "question", "What does a router add?")
	if !ok {
		return ""
	}
	question = strings.TrimSpace(question)
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) && c != '\n' && c != '\t' }
	if strings.ContainsFunc(question, unprintable) {
		r.wrong(v.value, "write plain text", "question holds a character that cannot be printed")
	}
	if n := len([]rune(question)); n > maxQuestion {
		r.wrong(v.value, "at most "+strconv.Itoa(maxQuestion), "question has %d characters", n)
	}
	return question
}

// baseline reads the name of the arm that the others are compared with: by default the first.
func (r *reader) baseline(f fields) string {
	names := armNames(f)
	v, ok := r.optional(f, "baseline")
	if !ok {
		if len(names) == 0 {
			return ""
		}
		return names[0]
	}
	name, ok := r.text(v.value, "baseline", "the name of an arm")
	if ok && len(names) > 0 && !slices.Contains(names, name) {
		r.wrong(v.value, Suggest(name, names), "baseline %s is none of the arms", quote(name))
	}
	return name
}

// armNames lists the names of all arms, including those with mistakes.
func armNames(f fields) (names []string) {
	if arms := f.named["arms"].value; arms != nil && arms.Kind == yaml.MappingNode {
		for key := range pairs(arms) {
			names = append(names, key.Value)
		}
	}
	return names
}

// schedule reads how often everything is run.
func (r *reader) schedule(f fields, compared []Arm, workloads int) Schedule {
	arms := len(compared)
	s := Schedule{Blocks: DefaultBlocks(arms), BaselineRepeats: DefaultBaselineRepeats(arms), Retries: DefaultRetries}
	at := f.at
	if v, ok := r.optional(f, "schedule"); ok {
		at = v.key
		inner, ok := r.fields(v.value, v.key, "schedule", scheduleKeys())
		if !ok {
			return s
		}
		if b, ok := r.optional(inner, "blocks"); ok {
			at = b.value
			if n, ok := r.integer(b.value, "blocks", 1, MaxBlocks); ok {
				s.Blocks = int(n)
			}
		}
		r.repetitions(inner, &s)
		if b, ok := r.optional(inner, "seed"); ok {
			s.Seed = r.seed(b.value)
		}
		if d, ok := r.optional(inner, "deployments"); ok {
			s.Deployments = r.deployments(d.value, compared)
		}
	}
	if trials := s.trials(arms, workloads); trials > MaxTrials {
		r.wrong(at, "at most "+strconv.Itoa(MaxTrials), "%d arms, %d workloads and %d blocks%s make %d trials",
			arms, workloads, s.Blocks, s.inDeployments(), trials)
	}
	return s
}

// repetitions reads how often a block runs the baseline, and how often a failed trial runs again.
func (r *reader) repetitions(schedule fields, s *Schedule) {
	if b, ok := r.optional(schedule, "baseline_repeats"); ok {
		switch n, ok := r.integer(b.value, "baseline_repeats", 1, maxBaselineRepeats); {
		case ok && n%2 == 0:
			r.wrong(b.value, fmt.Sprintf("write %d or %d", n-1, n+1),
				"baseline_repeats %d is even: the median of a block needs an odd number", n)
		case ok:
			s.BaselineRepeats = int(n)
		}
	}
	if b, ok := r.optional(schedule, "retries"); ok {
		if n, ok := r.integer(b.value, "retries", 0, maxRetries); ok {
			s.Retries = int(n)
		}
	}
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

// deployments reads how many times the hosts are made; 0 for once. If the file names hosts, only provisioned ones can
// be made anew.
func (r *reader) deployments(n *yaml.Node, arms []Arm) int {
	d, ok := r.integer(n, "deployments", 1, maxDeployments)
	if !ok || d == 1 {
		return 0
	}
	for _, a := range arms {
		switch {
		case !a.hasHosts(), a.madeFrom(r.known.specs) && r.known.replaced:
		case a.madeFrom(r.known.specs):
			r.wrong(n, "add to provision, for example, replace: [azurerm_linux_virtual_machine]",
				"deployments: provision does not say which resources are made anew for each deployment")
			return 0
		default:
			r.wrong(n, "leave it out, or write 1",
				"deployments: arm %s has hosts that the file names, and these would be the same machines each time",
				quote(a.Name))
			return 0
		}
	}
	return int(d)
}
