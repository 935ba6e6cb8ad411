package contrast

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
)

// ErrNothing means that the two sides have nothing to compare.
var ErrNothing = errors.New("nothing is comparable")

// Pair is an arm of Base and an arm of New in one workload.
type Pair struct {
	// BaseArm and NewArm name the arms. If Missing names a side, that side has no trials.
	BaseArm, NewArm string
	// Workload is the name of the workload in reports. If both sides have one and the names differ, it is New's name;
	// but if New is a file and Base is a run, it is Base's name.
	Workload string
	// Missing is the Name of the side without a counterpart; empty if both sides have one.
	Missing string
	// Refused says why the two do not measure the same thing; empty if they do.
	Refused string
	// Paired says that the trials share blocks.
	Paired    bool
	base, new group
	// about says what a comparison of a pair that shares blocks applies to; see figures.AboutOnce.
	about string
	// oneRun says that both sides are from one run; recorded, that both were recorded elsewhere.
	oneRun, recorded bool
	// between gives the scatter of other runs; nil if it is not used.
	between func(figures.Quantity) stats.Scatter
	// sides are the names of Base and New.
	sides [2]string
}

// Contrast is two sides and their comparable pairs. Differences are New minus Base.
type Contrast struct {
	Base, New *Side
	// Pairs are in the order of New's workloads; pairs that only Base has come last.
	Pairs []Pair
	// alone says that the arms of one run are compared with its baseline.
	alone bool
}

// Match finds the comparable pairs. The error says what to write instead; it wraps ErrNothing if the two have no arm
// or no workload in common.
func Match(base, other *Side) (*Contrast, error) {
	if len(base.parts)+len(other.parts) > 0 {
		if err := distinctRuns(base, other); err != nil {
			return nil, err
		}
	}
	if err := shareWorkload(base, other); err != nil {
		return nil, err
	}
	arms, err := matchArms(base, other)
	if err != nil {
		return nil, err
	}
	c := &Contrast{Base: base, New: other}
	for _, a := range arms {
		var pairs []Pair
		switch a.missing {
		case base.Name:
			pairs = single(other.groups(a.new), base.Name, func(p *Pair, g group) { p.NewArm, p.new = a.new, g })
		case other.Name:
			pairs = single(base.groups(a.base), other.Name, func(p *Pair, g group) { p.BaseArm, p.base = a.base, g })
		default:
			pairs = matchWorkloads(base, other, a)
		}
		c.Pairs = append(c.Pairs, pairs...)
	}
	if !slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.Missing == "" }) {
		return nil, fmt.Errorf("%w: no workload is in both\n%s has %s\n%s has %s", ErrNothing,
			base.Name, workloads(base), other.Name, workloads(other))
	}
	for i := range c.Pairs {
		c.Pairs[i].sides = [2]string{base.Name, other.Name}
	}
	c.refuse()
	c.sort()
	return c, nil
}

// about says what a comparison of two arms of one run applies to; empty for two runs.
func about(s *Side, oneRun bool, arms armPair) string {
	if !oneRun {
		return ""
	}
	return figures.AboutOnce(s.Experiment, arms.base, arms.new)
}

// armPair is an arm of each side; missing names the side that lacks the arm.
type armPair struct{ base, new, missing string }

func matchArms(base, other *Side) ([]armPair, error) {
	same := base.ID != "" && base.ID == other.ID
	bases, others := base.arms(), other.arms()
	chosen := func(s *Side) bool { return s.Arm != "" }
	switch {
	case same && base.Arm == other.Arm && base.Arm != "" && base.Workload == other.Workload:
		return nil, fmt.Errorf("%s and %s are the same arm of the same run: name two", base.Name, other.Name)
	case same && (!chosen(base) || !chosen(other)):
		return nil, fmt.Errorf("%s and %s are the same run: name two of its arms, for example %s:%s %s:%s",
			base.Name, other.Name, base.place(), first(base), other.place(), last(other))
	case chosen(base) && chosen(other):
		return []armPair{{base: base.Arm, new: other.Arm}}, nil
	case chosen(base):
		arm, err := counterpart(base.Arm, other)
		return []armPair{{base: base.Arm, new: arm}}, err
	case chosen(other):
		arm, err := counterpart(other.Arm, base)
		return []armPair{{base: arm, new: other.Arm}}, err
	case len(bases) == 1 && len(others) == 1:
		return []armPair{{base: bases[0], new: others[0]}}, nil
	}
	var pairs []armPair
	common := 0
	for _, arm := range others {
		p := armPair{base: arm, new: arm}
		if !slices.Contains(bases, arm) {
			p.missing = base.Name
		} else {
			common++
		}
		pairs = append(pairs, p)
	}
	if common == 0 {
		return nil, fmt.Errorf("%w: no arm is in both. %s has %s, %s has %s: write RUN:ARM on both sides", ErrNothing,
			base.Name, list(bases), other.Name, list(others))
	}
	for _, arm := range bases {
		if !slices.Contains(others, arm) {
			pairs = append(pairs, armPair{base: arm, new: arm, missing: other.Name})
		}
	}
	return pairs, nil
}

// counterpart is the arm of a side to compare with another side's only arm.
func counterpart(arm string, s *Side) (string, error) {
	arms := s.arms()
	switch {
	case slices.Contains(arms, arm):
		return arm, nil
	case len(arms) == 1:
		return arms[0], nil
	}
	return "", fmt.Errorf("%s has %d arms: say which one, for example %s:%s (there are %s)", s.Source,
		len(arms), s.place(), arms[0],
		list(arms))
}

// place is the run without the arm.
func (s *Side) place() string {
	return strings.TrimSuffix(strings.TrimSuffix(s.Source, "/"+s.Workload), ":"+s.Arm)
}

func first(s *Side) string { return s.Experiment.Arms[0].Name }
func last(s *Side) string  { return s.Experiment.Arms[len(s.Experiment.Arms)-1].Name }

func workloads(s *Side) string {
	var names []string
	for _, arm := range s.arms() {
		for _, g := range s.groups(arm) {
			if !slices.Contains(names, g.workload) {
				names = append(names, g.workload)
			}
		}
	}
	if len(names) == 0 {
		return "no trials"
	}
	return list(names)
}

// matchWorkloads pairs the workloads of two arms of runs by name. A side that was recorded elsewhere has names of
// another origin: workloads that exist under that name on one side only are then paired by what they measure.
func matchWorkloads(base, other *Side, arms armPair) []Pair {
	bases, others := base.groups(arms.base), other.groups(arms.new)
	var pairs []Pair
	used := make([]bool, len(bases))
	pair := func(b, n group) {
		name := n.workload
		if other.Kind == File && base.Kind == Run {
			name = b.workload
		}
		oneRun := base.ID != "" && base.ID == other.ID
		pairs = append(pairs, Pair{BaseArm: arms.base, NewArm: arms.new, Workload: name,
			base: b, new: n, oneRun: oneRun, recorded: !base.measuredHere() && !other.measuredHere(),
			Paired: oneRun && !base.Experiment.Unpaired(), about: about(base, oneRun, arms)})
	}
	if base.Workload != "" && len(bases) == 1 && len(others) == 1 {
		pair(bases[0], others[0])
		return pairs
	}
	runs, declared := base.Kind == Run && other.Kind == Run, base.measuredHere() && other.measuredHere()
	var left []group
	for _, n := range others {
		found := false
		for _, i := range candidates(n, bases, runs, declared) {
			found, used[i] = true, true
			pair(bases[i], n)
		}
		if !found {
			left = append(left, n)
		}
	}
	for _, n := range left {
		// Pair it with the nearest one, which explains why nothing matches.
		nearest, fewest := -1, 0
		for i, b := range bases {
			if k := len(differences(b.good, n.good, nil)); !declared && !used[i] && (nearest < 0 || k < fewest) {
				nearest, fewest = i, k
			}
		}
		if nearest >= 0 {
			used[nearest] = true
			pair(bases[nearest], n)
			continue
		}
		pairs = append(pairs, Pair{NewArm: arms.new, BaseArm: arms.base, Workload: n.workload,
			new: n, Missing: base.Name})
	}
	for i, b := range bases {
		if !used[i] {
			pairs = append(pairs, Pair{NewArm: arms.new, BaseArm: arms.base, Workload: b.workload,
				base: b, Missing: other.Name})
		}
	}
	return pairs
}

// candidates finds the groups to compare with n: the group of the same name among runs; otherwise, unless both sides
// were declared, the groups that measure the same thing. If some of these used the same tool, only those.
func candidates(n group, bases []group, runs, declared bool) []int {
	if i := slices.IndexFunc(bases, func(b group) bool { return b.workload == n.workload }); runs && i >= 0 {
		return []int{i}
	}
	var found, sameTool []int
	for i, b := range bases {
		if declared || len(differences(b.good, n.good, nil)) > 0 {
			continue
		}
		found = append(found, i)
		if b.good[0].Tool.Name == n.good[0].Tool.Name {
			sameTool = append(sameTool, i)
		}
	}
	if len(sameTool) > 0 {
		return sameTool
	}
	return found
}

// single lists the pairs that only one side has.
func single(groups []group, missing string, set func(*Pair, group)) []Pair {
	var pairs []Pair
	for _, g := range groups {
		p := Pair{Workload: g.workload, Missing: missing}
		set(&p, g)
		pairs = append(pairs, p)
	}
	return pairs
}

// refuse marks the pairs that do not measure the same thing.
func (c *Contrast) refuse() {
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if p.Missing != "" {
			continue
		}
		if c.otherWorkloads() {
			p.Refused = otherDefinition(p.base.good, p.new.good)
			continue
		}
		set := c.setOtherwise(p)
		reasons := differences(p.base.good, p.new.good, set)
		reasons = append(append(reasons, c.Base.otherwiseDeclared(p.BaseArm, p.base.workload)...),
			c.New.otherwiseDeclared(p.NewArm, p.new.workload)...)
		if b, ok := c.Base.declared(p.BaseArm, p.base.workload); ok {
			if n, ok := c.New.declared(p.NewArm, p.new.workload); ok {
				reasons = append(reasons, otherWorkload(b, n, set)...)
			}
		}
		p.Refused = strings.Join(reasons, "; ")
	}
}

// sort groups the pairs by workload, as tables show them.
func (c *Contrast) sort() {
	var order []string
	for _, p := range c.Pairs {
		if !slices.Contains(order, p.Workload) {
			order = append(order, p.Workload)
		}
	}
	slices.SortStableFunc(c.Pairs, func(a, b Pair) int {
		return slices.Index(order, a.Workload) - slices.Index(order, b.Workload)
	})
}
