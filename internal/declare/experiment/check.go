package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nearfar/internal/declare/check"
)

// Check says which counts of an experiment are beyond their limits, and which names are duplicates or refer to nothing.
// All code that reads runs relies on this. Experiments from file.Parse and Recorded pass. An experiment that was read
// from a run directory can contain anything. After Check its texts have a limited length but any content: code that
// prints them must escape them.
func (e *Experiment) Check() error {
	c := newChecker()
	c.strict = false
	e.check(c, nil)
	return c.err()
}

// CheckRunnable says why an experiment that was read from a run directory cannot be run. It refuses what file.Parse
// would refuse in a file, because values become command lines, file names and network devices.
func (e *Experiment) CheckRunnable(tools Tools) error {
	if e.Imported {
		return errors.New("its results were recorded elsewhere")
	}
	c := newChecker()
	e.check(c, tools)
	return c.err()
}

// check checks an experiment that was not read from a file. The reader checks each part when it has read it.
func (e *Experiment) check(c *Checker, tools Tools) {
	fine := c.Most(AtValue("arms"), "arms", len(e.Arms), MaxArms)
	fine = c.Most(AtValue("workloads"), "workloads", len(e.Workloads), MaxWorkloads) && fine
	fine = c.Most(AtValue("objectives"), "objectives", len(e.Objectives), MaxObjectives) && fine
	fine = c.Most(AtValue("hosts"), "hosts", len(e.Hosts), MaxHosts) && fine
	if !fine {
		return
	}
	e.CheckTop(c)
	e.checkHosts(c, tools)
	workloads := e.checkWorkloads(c, tools)
	e.checkArms(c, workloads, tools)
	e.SelfComparison.check(c.In("self_comparison"), workloads)
	if c.strict {
		e.checkAnswered(c)
	}
}

// CheckTop checks the keys at the top of an experiment, without its hosts, arms and workloads.
func (e *Experiment) CheckTop(c *Checker) {
	if c.strict {
		c.Name(AtValue("name"), "an experiment", e.Name)
		checkQuestion(c, e.Question)
		if len(e.Workloads) == 0 {
			c.wrong(AtValue("workloads"), "write, for example, "+WorkloadsExample, "there are no workloads")
		}
	}
	if c.strict {
		checkOwnFigures(c, e.Workloads)
	}
	if len(e.Arms) == 0 {
		c.wrong(AtValue("arms"), "write, for example, "+ArmsExample, "there are no arms")
	}
	if e.Unproved != "" || c.given("unproved") {
		c.word(AtValue("unproved"), "value of unproved", e.Unproved, UnprovedWords())
	}
	e.checkBaseline(c)
	e.checkSchedule(c)
	e.checkProviders(c)
	if m := e.AdditiveWithin; !(m >= 0 && m < 1) || m == 0 && c.given("additive_within") { // also not a number
		c.wrong(AtValue("additive_within"), "write a margin between 0% and 100%, for example, 5%",
			"additive_within: %s is no margin", quote(FormatRatio(m)))
	}
	e.Provision.check(c.In("provision"))
}

// checkQuestion checks the question of an experiment or of a workload.
func checkQuestion(c *Checker, question string) {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) && c != '\n' && c != '\t' }
	if strings.ContainsFunc(question, unprintable) {
		c.wrong(AtValue("question"), "write plain text", "question holds a character that cannot be printed")
	}
	if n := len([]rune(question)); n > maxQuestion {
		c.wrong(AtValue("question"), "at most "+strconv.Itoa(maxQuestion), "question has %d characters", n)
	}
}

// checkBaseline checks the arm that the others are compared with, and the arm that the question is about.
func (e *Experiment) checkBaseline(c *Checker) {
	names := e.ArmNames()
	if len(names) == 0 {
		return
	}
	if (e.Baseline != "" || c.given("baseline")) && !slices.Contains(names, e.Baseline) {
		c.wrong(AtValue("baseline"), Suggest(e.Baseline, names), "baseline %s is none of the arms", quote(e.Baseline))
	}
	others := slices.DeleteFunc(names, func(arm string) bool { return arm == e.Baseline })
	switch {
	case e.AskedAbout == "" && !c.given("asked_about"), len(others) == 0 && c.text != nil:
	case e.AskedAbout == e.Baseline:
		c.wrong(AtValue("asked_about"), "write an arm that is compared with it: "+strings.Join(others, ", "),
			"asked_about %s is the baseline", quote(e.AskedAbout))
	case !slices.Contains(others, e.AskedAbout):
		c.wrong(AtValue("asked_about"), Suggest(e.AskedAbout, others), "asked_about %s is none of the arms",
			quote(e.AskedAbout))
	}
}

// checkSchedule checks how often everything is run.
func (e *Experiment) checkSchedule(c *Checker) {
	s, in := e.Schedule, c.In("schedule")
	numbers := s.Numbers()
	if e.Imported { // each trial can be a block of its own
		numbers[0].Limits.Max = MaxTrials
	}
	if in.numbers(numbers); c.strict && s.Blocks == 0 && c.text == nil {
		in.wrong(AtValue("blocks"), "", "there are no blocks")
	}
	if n := s.BaselineRepeats; n != 0 && n%2 == 0 && c.strict && in.sound("baseline_repeats") {
		in.wrong(AtValue("baseline_repeats"), "write "+strconv.Itoa(n-1)+" or "+strconv.Itoa(n+1),
			"baseline_repeats %d is even: the median of a block needs an odd number", n)
	}
	if s.Deployments > 1 && (e.Imported || c.strict) && in.sound("deployments") {
		e.checkDeployments(in)
	}
	trials := s.trials(len(e.Arms), len(e.Workloads))
	if trials <= MaxTrials || e.Imported || !in.sound("blocks", "baseline_repeats", "deployments") {
		return
	}
	at := c.firstGiven("schedule")
	if at.AtKey = true; in.given("blocks") {
		at = AtValue("schedule", "blocks")
	}
	c.wrong(at, "at most "+strconv.Itoa(MaxTrials), "%d arms, %d workloads and %d blocks%s make %d trials",
		len(e.Arms), len(e.Workloads), s.Blocks, s.inDeployments(), trials)
}

// checkDeployments checks that the hosts can be made anew. Of those that the file names, only provisioned ones can.
func (e *Experiment) checkDeployments(c *Checker) {
	at := AtValue("deployments")
	if e.Imported {
		c.wrong(at, "leave it out", "deployments: the results were recorded elsewhere")
	}
	for _, a := range e.Arms {
		switch replaced := e.Provision != nil && len(e.Provision.Replace) > 0; {
		case !a.HasHosts(), a.madeFrom(e.Hosts) && replaced:
		case a.madeFrom(e.Hosts):
			c.wrong(at, "add to provision, for example, replace: [azurerm_linux_virtual_machine]",
				"deployments: provision does not say which resources are made anew for each deployment")
			return
		default:
			c.wrong(at, "leave it out, or write 1",
				"deployments: arm %s has hosts that the file names, and these would be the same machines each time",
				quote(a.Name))
			return
		}
	}
}

// checkWorkloads checks the workloads, and gives their names.
func (e *Experiment) checkWorkloads(c *Checker, tools Tools) map[string]bool {
	names := map[string]bool{}
	for i, w := range e.Workloads {
		if names[w.Name] {
			c.wrong(AtValue("workloads", Item(i)), "give each workload a name of its own", "workload %s is there twice",
				quote(w.Name))
		}
		names[w.Name] = true
		in := c.In("workloads", w.Name)
		e.checkTwin(in, w)
		if w.bounds(in); c.strict {
			w.checkName(in)
			w.check(in, tools)
		}
	}
	return names
}

// checkArms checks the arms.
func (e *Experiment) checkArms(c *Checker, workloads map[string]bool, tools Tools) {
	var hosts []string
	for _, h := range e.Hosts {
		hosts = append(hosts, h.Name)
	}
	names, layers := map[string]bool{}, map[string]bool{}
	for i, a := range e.Arms {
		if names[a.Name] {
			c.wrong(AtValue("arms", Item(i)), "give each arm a name of its own", "arm %s is there twice", quote(a.Name))
		}
		names[a.Name] = true
		in := c.In("arms", a.Name)
		for name, n := range a.Layers {
			layers[name] = true
			if len(name) > maxLayerName || len(layers) > MaxLayers || !LayerCounts().Holds(n) {
				in.wrong(AtValue("layers"), "at most "+strconv.Itoa(maxCount)+" times, and at most "+
					strconv.Itoa(MaxLayers)+" different layers in all arms", "layer %.100q is there %d times", name, n)
				return
			}
		}
		a.bounds(in, workloads)
		for _, side := range sides() {
			a.CheckHost(in, side, hosts)
		}
		if !c.strict {
			continue
		}
		a.CheckWays(in)
		if a.Check(in); a.Kubernetes != nil {
			a.checkPods(in.In("kubernetes"), tools)
		} else if a.Lab == nil && (a.Client == "" || a.Server == "") && a.HasHosts() {
			in.wrong(AtValue(), "", "%s has one host", a.what())
		}
		for _, w := range a.Workloads {
			w.check(in.In("workloads", w.Name), tools)
		}
	}
}

// checkAnswered checks that no arm dials a Service with a workload that a Service does not answer.
func (e *Experiment) checkAnswered(c *Checker) {
	for _, w := range e.Workloads {
		for _, a := range e.Arms {
			a.CheckAnswered(c.In("workloads", w.Name), w)
		}
	}
}

// MaxObjectives is the greatest number of objectives in a file.
const MaxObjectives = 100

func providerWords() []string { return []string{check.CloudAWS, check.CloudAzure, check.CloudGCP} }

// checkProviders checks the clouds whose providers are asked. A lab is in no cloud.
func (e *Experiment) checkProviders(c *Checker) {
	const key = "ask_providers"
	if len(e.AskProviders) == 0 && !c.given(key) {
		return
	}
	if len(e.AskProviders) == 0 {
		c.wrong(AtValue(key), "write, for example, ask_providers: [azure], or leave the key out", "ask_providers is empty")
	}
	for i, cloud := range e.AskProviders {
		at := AtValue(key, Item(i))
		if c.word(at, "value of ask_providers", cloud, providerWords()) && slices.Contains(e.AskProviders[:i], cloud) {
			c.wrong(at, "keep one of them", "ask_providers names %s twice", cloud)
		}
	}
	if c.strict && len(e.Arms) > 0 && !slices.ContainsFunc(e.Arms, func(a Arm) bool { return a.Lab == nil }) {
		c.wrong(AtKey(key), "leave it out", "ask_providers: all arms are labs, which are in no cloud")
	}
}

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
