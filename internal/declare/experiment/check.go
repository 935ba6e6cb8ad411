package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Check says which counts of an experiment are beyond their limits, and which names are duplicates or refer to nothing.
// All code that reads runs relies on this. Experiments from Parse and Recorded pass. An experiment that was read from a
// run directory can contain anything. After Check its texts have a limited length but any content: code that prints
// them must escape them.
func (e *Experiment) Check() error {
	switch {
	case len(e.Arms) == 0:
		return errors.New("there are no arms")
	case len(e.Arms) > maxArms:
		return fmt.Errorf("there are %d arms; at most %d", len(e.Arms), maxArms)
	case len(e.Workloads) > maxWorkloads:
		return fmt.Errorf("there are %d workloads; at most %d", len(e.Workloads), maxWorkloads)
	case len(e.Objectives) > maxObjectives:
		return fmt.Errorf("there are %d objectives; at most %d", len(e.Objectives), maxObjectives)
	case e.Unproved != "" && !slices.Contains(unprovedWords(), e.Unproved):
		return fmt.Errorf("unproved is %s; %s", quote(e.Unproved), strings.Join(unprovedWords(), " or "))
	case e.Schedule.Blocks < 0 || e.Schedule.Blocks > e.maxBlocks():
		return fmt.Errorf("there are %d blocks; 0 to %d", e.Schedule.Blocks, e.maxBlocks())
	}
	s := e.Schedule
	if s.BaselineRepeats < 0 || s.BaselineRepeats > maxBaselineRepeats || s.Retries < 0 || s.Retries > maxRetries {
		return fmt.Errorf("%d repeats of the baseline and %d of a failed trial; 0 to %d, and 0 to %d",
			s.BaselineRepeats, s.Retries, maxBaselineRepeats, maxRetries)
	}
	if s.Deployments < 0 || s.Deployments > maxDeployments || s.Deployments > 1 && e.Imported {
		return fmt.Errorf("%d deployments; 0 to %d, and not of imported results", s.Deployments, maxDeployments)
	}
	if trials := e.Schedule.trials(len(e.Arms), len(e.Workloads)); trials > MaxTrials && !e.Imported {
		return fmt.Errorf("%d arms, %d workloads and %d blocks%s make %d trials; at most %d",
			len(e.Arms), len(e.Workloads), e.Schedule.Blocks, s.inDeployments(), trials, MaxTrials)
	}
	err := errors.Join(e.checkHosts(), e.Provision.check(), e.checkProviders(), e.checkAdditive(), e.checkAskedAbout())
	if err != nil {
		return err
	}
	workloads, err := e.checkWorkloads()
	if err != nil {
		return err
	}
	arms, err := e.checkArms(workloads)
	if err != nil {
		return err
	}
	if e.Baseline != "" && !arms[e.Baseline] {
		return fmt.Errorf("the baseline %s is no arm", quote(e.Baseline))
	}
	return e.SelfComparison.check(workloads)
}

// maxBlocks is the greatest number of blocks. Imported results can have as many blocks as trials.
func (e *Experiment) maxBlocks() int {
	if e.Imported {
		return MaxTrials
	}
	return MaxBlocks
}

func (e *Experiment) checkWorkloads() (names map[string]bool, err error) {
	names = map[string]bool{}
	for _, w := range e.Workloads {
		if names[w.Name] {
			return nil, fmt.Errorf("workload %s is there twice", quote(w.Name))
		}
		names[w.Name] = true
		c := newChecker()
		if w.bounds(c.in("workloads", w.Name)); c.count() > 0 {
			return nil, c.err()
		}
	}
	return names, nil
}

func (e *Experiment) checkArms(workloads map[string]bool) (names map[string]bool, err error) {
	names = map[string]bool{}
	layers := map[string]bool{}
	for _, a := range e.Arms {
		if names[a.Name] {
			return nil, fmt.Errorf("arm %s is there twice", quote(a.Name))
		}
		names[a.Name] = true
		for name, n := range a.Layers {
			if layers[name] = true; n < 0 || n > maxCount || len(layers) > maxLayers || len(name) > maxLayerName {
				return nil, fmt.Errorf("arm %s: layer %s, %d times: "+
					"an experiment has at most %d layers, and an arm at most %d of each",
					quote(a.Name), quote(name), n, maxLayers, maxCount)
			}
		}
		if err := a.check(workloads); err != nil {
			return nil, fmt.Errorf("arm %s: %w", quote(a.Name), err)
		}
	}
	return names, nil
}

// maxLayerName is the greatest length of a layer's name in bytes. Names of layers that an arm sets hold keys and
// values.
const maxLayerName = 1000

// check checks that an arm does not set too much, and that it sets keys only of workloads that exist.
func (a Arm) check(workloads map[string]bool) error {
	if a.Lab != nil && len(a.Lab.Path) > maxPath {
		return fmt.Errorf("the path has %d elements; at most %d", len(a.Lab.Path), maxPath)
	}
	if a.Kubernetes != nil {
		if err := a.Kubernetes.checkPods(); err != nil {
			return err
		}
	}
	if err := a.checkExpect(); err != nil {
		return err
	}
	if most := maxWorkloads * len(settableKeys()); len(a.Set) > most || len(a.Workloads) > maxWorkloads {
		return fmt.Errorf("it sets %d values in %d workloads; at most %d in %d", len(a.Set), len(a.Workloads), most,
			maxWorkloads)
	}
	for _, s := range a.Set {
		for _, w := range s.Workloads {
			if !workloads[w] {
				return fmt.Errorf("it sets %s in %s, which is no workload", quote(s.Key), quote(w))
			}
		}
	}
	for _, w := range a.Workloads {
		if !workloads[w.Name] {
			return fmt.Errorf("it sets something in %s, which is no workload", quote(w.Name))
		}
		c := newChecker()
		if w.bounds(c.in("workloads", w.Name)); c.count() > 0 {
			return c.err()
		}
	}
	return nil
}

// CheckRunnable says why an experiment that was read from a run directory cannot be run. It refuses what Parse would
// refuse in a file, because values become command lines, file names and network devices.
func (e *Experiment) CheckRunnable(tools Tools) error {
	if err := cmp.Or(e.Check(), e.checkNames()); err != nil {
		return err
	}
	switch {
	case e.Imported:
		return errors.New("its results were recorded elsewhere")
	case e.Schedule.Blocks < 1:
		return errors.New("there are no blocks")
	case len(e.Workloads) == 0:
		return errors.New("there are no workloads")
	case e.Schedule.Deployments > 1 && !e.canBeMadeAnew():
		return errors.New("there are several deployments, and hosts that cannot be made anew")
	}
	for _, h := range e.Hosts {
		c := newChecker()
		if h.check(c.in("hosts", h.Name), tools); c.count() > 0 {
			return c.err()
		}
	}
	for _, w := range e.Workloads {
		c := newChecker()
		if w.check(c.in("workloads", w.Name), tools); c.count() > 0 {
			return c.err()
		}
	}
	for _, a := range e.Arms {
		if err := cmp.Or(a.checkRunnable(tools), a.checkAnswered(e.Workloads)); err != nil {
			return fmt.Errorf("arm %s: %w", quote(a.Name), err)
		}
		for _, w := range a.Workloads {
			c := newChecker()
			if w.check(c.in("arms", a.Name, "workloads", w.Name), tools); c.count() > 0 {
				return c.err()
			}
		}
	}
	return nil
}

// checkNames checks the names that become parts of file names.
func (e *Experiment) checkNames() error {
	if !IsName(e.Name) {
		return fmt.Errorf("%s is no name of an experiment: %s", quote(e.Name), nameRule())
	}
	for _, a := range e.Arms {
		if !IsName(a.Name) {
			return fmt.Errorf("%s is no name of an arm: %s", quote(a.Name), nameRule())
		}
	}
	for _, w := range e.Workloads {
		if !IsName(w.Name) {
			return fmt.Errorf("%s is no name of a workload: %s", quote(w.Name), nameRule())
		}
	}
	if utf8.RuneCountInString(e.Question) > maxQuestion {
		return fmt.Errorf("the question has more than %d characters", maxQuestion)
	}
	for _, w := range e.Workloads {
		if utf8.RuneCountInString(w.Question) > maxQuestion {
			return fmt.Errorf("the question of workload %s has more than %d characters", w.Name, maxQuestion)
		}
	}
	return nil
}

// check checks that a lab can be built.
func (l *Lab) check() error {
	if err := l.CheckLimits(); err != nil {
		return err
	}
	for _, m := range misplaced(l.Path) {
		return errors.New(m.text)
	}
	return nil
}

// CheckLimits says which value of a lab is beyond its limits. It does not check where elements stand in the path.
func (l *Lab) CheckLimits() error {
	if len(l.Path) == 0 {
		return errors.New("the path is empty")
	}
	if len(l.Path) > maxPath {
		return fmt.Errorf("a path of %d elements: at most %d", len(l.Path), maxPath)
	}
	for i, e := range l.Path {
		if err := e.check(); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	if hops := routedHops(l.Path); hops > maxHops {
		return fmt.Errorf(tooManyHops+": at most %d", hops, maxHops)
	}
	least := minMTU
	if l.has(VTEP) {
		least += vxlanBytes
	}
	if l.MTU < least || l.MTU > maxMTU {
		return fmt.Errorf("an mtu of %d: %d to %d", l.MTU, least, maxMTU)
	}
	return nil
}

// check checks that the kind of an element is known, and that it has only the parameters of its kind, within their
// limits.
func (e Element) check() error {
	if !slices.Contains(elementKinds(), e.Kind) {
		return fmt.Errorf("unknown kind of path element %s", quote(e.Kind))
	}
	firewall, wire := e.Kind == Firewall, e.Kind == Wire
	switch {
	case firewall && (e.Rules < 1 || e.Rules > maxRules), !firewall && e.Rules != 0:
		return fmt.Errorf("a %s cannot have %d rules", e.Kind, e.Rules)
	case e.Delay < 0 || e.Delay > maxDelay || e.Delay%delayStep != 0, !wire && e.Delay != 0:
		return fmt.Errorf("a %s cannot have a delay of %v", e.Kind, e.Delay)
	case e.Rate != 0 && !(wire && e.Rate >= minWireRate && e.Rate <= maxWireRate):
		return fmt.Errorf("a %s cannot have a rate of %v bit/s", e.Kind, e.Rate)
	case e.Loss != 0 && !(wire && e.Loss >= minRatio && e.Loss < 1):
		return fmt.Errorf("a %s cannot have a loss of %v", e.Kind, e.Loss)
	}
	return nil
}

// checkRunnable checks that an arm has hosts, in one way.
func (a Arm) checkRunnable(tools Tools) error {
	switch {
	case a.Lab != nil && (a.hasHosts() || a.Kubernetes != nil):
		return errors.New("it makes its hosts in two ways")
	case a.Lab != nil:
		return a.Lab.check()
	case a.Kubernetes != nil && a.Client != "" && a.Server != "":
		return errors.New("it names both hosts, and pods too")
	case a.Kubernetes != nil:
		c := newChecker().in("arms", a.Name, "kubernetes")
		k, arm := a.Kubernetes, "arm "+quote(a.Name)
		for side, named := range map[string]string{"client": a.Client, "server": a.Server} {
			if (named == "") != (k.pod(side) != nil) {
				c.wrong(value(side), "", "%s needs one %s, a host or a pod", arm, side)
			}
		}
		if k.check(c, arm, tools); c.count() == 0 {
			k.checkTogether(c, arm)
		}
		return c.err()
	case a.Client == "" || a.Server == "":
		return errors.New("it has no hosts")
	}
	return nil
}
