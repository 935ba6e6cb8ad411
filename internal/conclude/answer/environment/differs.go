package environment

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The sides of an arm.
const (
	sideClient = "client"
	sideServer = "server"
)

// Differing is a fact in which the hosts of an arm differ from those of the baseline.
type Differing struct {
	Arm string `json:"arm"`
	// Side is "client" or "server".
	Side string `json:"side"`
	// Fact is a path into check.Facts: "kernel", "path.mtu". "device" stands for the device of the path, "enslaved" for
	// the devices enslaved to it. Name is the fact in words.
	Fact string `json:"fact"`
	Name string `json:"name"`
	// Baseline and Value are what the hosts of the baseline and of the arm have; several values are separated by
	// commas.
	Baseline string `json:"baseline"`
	Value    string `json:"value"`
	// Declared says that the difference is a part of what the file declares to be different.
	Declared bool `json:"declared,omitempty"`
	// Matters says that the fact is known to change figures.
	Matters bool `json:"matters,omitempty"`
}

// recordedFacts is the part of a run's hosts about the facts of all hosts; internal/measure/deploy.Record writes it.
type recordedFacts struct {
	Facts []struct {
		Deployment int `json:"deployment"`
		// Sides are what the host is in the arms: "l2/client".
		Sides []string     `json:"sides"`
		Facts *check.Facts `json:"facts"`
	} `json:"facts"`
}

// sideFacts are the facts of the hosts by side ("l2/client") and deployment.
type sideFacts map[string]map[int]*check.Facts

// readFacts reads the facts of a run's hosts. If a side has several in one deployment, as after the run was resumed,
// the last ones count.
func readFacts(hosts json.RawMessage) sideFacts {
	var r recordedFacts
	if len(hosts) == 0 || json.Unmarshal(hosts, &r) != nil {
		return nil
	}
	all := sideFacts{}
	for _, h := range r.Facts {
		if h.Facts == nil {
			continue
		}
		for _, side := range h.Sides {
			if all[side] == nil {
				all[side] = map[int]*check.Facts{}
			}
			all[side][h.Deployment] = h.Facts
		}
	}
	return all
}

// machineFacts are the facts of runs that recorded only the machines of the hosts.
func (g givenHosts) machineFacts() sideFacts {
	all := sideFacts{}
	for arm, s := range g.Sides {
		for side, host := range map[string]string{sideClient: s.Client, sideServer: s.Server} {
			if m, ok := g.Machines[host]; ok {
				all[arm+"/"+side] = map[int]*check.Facts{1: m.facts()}
			}
		}
	}
	return all
}

// hostsDiffering lists the facts in which the hosts of an arm differ from those of the baseline, client with client and
// server with server. Those that matter and are not declared come first within an arm.
func hostsDiffering(in Run) (all []Differing) {
	facts := readFacts(in.Hosts)
	if len(facts) == 0 {
		facts = readGiven(in.Hosts).machineFacts()
	}
	base, ok := in.Experiment.Arm(in.Experiment.Baseline)
	if !ok {
		return nil
	}
	for _, arm := range in.Experiment.Arms {
		if arm.Name == base.Name {
			continue
		}
		var ofArm []Differing
		for _, side := range []string{sideClient, sideServer} {
			declared := declaredBetween(base, arm, side)
			for _, d := range facts.between(base.Name+"/"+side, facts, arm.Name+"/"+side) {
				d.Arm, d.Side = arm.Name, side
				d.Declared = declared.has(d.Fact)
				ofArm = append(ofArm, d)
			}
		}
		slices.SortStableFunc(ofArm, func(x, y Differing) int { return x.rank() - y.rank() })
		all = append(all, ofArm...)
	}
	return all
}

// rank orders differences: those that matter and are not declared first, those that are declared last.
func (d Differing) rank() int {
	switch {
	case d.Declared:
		return 2
	case d.Matters:
		return 0
	}
	return 1
}

// pairOver is a fact of two sides over the deployments.
type pairOver struct {
	check.Pair
	base, arm []string
	differs   int
}

// between lists the facts in which a side differs from a side of the baseline. Hosts are compared within each
// deployment. A fact differs if it does in more than half of the deployments in which both sides are known, and if the
// two sides did not get the same values in another order: a cloud that gives one CPU model to either side by chance
// makes no difference between the configurations.
func (base sideFacts) between(baseSide string, other sideFacts, side string) (all []Differing) {
	over := map[string]*pairOver{}
	var order []string
	for _, deployment := range slices.Sorted(maps.Keys(base[baseSide])) {
		for _, p := range check.Compare(base[baseSide][deployment], other[side][deployment]) {
			o := over[p.Fact]
			if o == nil {
				o = &pairOver{Pair: p}
				over[p.Fact] = o
				order = append(order, p.Fact)
			}
			o.base, o.arm = append(o.base, p.A), append(o.arm, p.B)
			if p.Differs {
				o.differs++
			}
		}
	}
	for _, fact := range order {
		o := over[fact]
		if 2*o.differs <= len(o.base) ||
			slices.Equal(slices.Sorted(slices.Values(o.base)), slices.Sorted(slices.Values(o.arm))) {
			continue
		}
		all = append(all, Differing{Fact: fact, Name: o.Name, Baseline: distinct(o.base), Value: distinct(o.arm),
			Matters: o.Matters})
	}
	return all
}

// distinct joins the values without repetitions, in their order.
func distinct(values []string) string {
	var all []string
	for _, v := range values {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// String is the difference in a line: "kernel 6.9 -> 6.1".
func (d Differing) String() string { return d.Name + " " + d.Baseline + " -> " + d.Value }

// machinesDiffer warns of each arm whose hosts differ from the baseline's in facts that matter and that the file does
// not declare.
func machinesDiffer(e *experiment.Experiment, differs []Differing) (warnings []result.Warning) {
	for _, arm := range e.Arms {
		lines := map[string][]string{}
		var order []string
		for _, d := range differs {
			if d.Arm != arm.Name || !d.Matters || d.Declared {
				continue
			}
			if lines[d.String()] == nil {
				order = append(order, d.String())
			}
			lines[d.String()] = append(lines[d.String()], d.Side)
		}
		if len(order) == 0 {
			continue
		}
		var parts []string
		for _, line := range order {
			of := "the " + lines[line][0] + "'s "
			if len(lines[line]) > 1 {
				of = "both hosts' "
			}
			parts = append(parts, of+line)
		}
		warnings = append(warnings, result.Warning{Code: "arms-differ-in-machines", Arm: arm.Name, Message: fmt.Sprintf(
			"the machines differ from those of %s, which alone can make a difference: %s", e.Baseline,
			strings.Join(parts, "; "))})
	}
	return warnings
}

// HostsOf are the hosts of a run, or of one of its arms.
type HostsOf struct {
	// Machine names the machine that measured, if known.
	Machine string
	// Hosts are the facts as in run.json.
	Hosts json.RawMessage
}

// DifferingHosts lists the differences between the hosts of two runs that can change figures, a line each: "kernel 6.9
// -> 6.1". arms are pairs of arms that are compared, the first one's of base.
func DifferingHosts(base, other HostsOf, arms [][2]string) []string {
	of, with := readFacts(base.Hosts), readFacts(other.Hosts)
	whole := len(of) == 0 || len(with) == 0
	lines := differingFacts(hostFacts(base, whole), hostFacts(other, whole))
	if whole {
		return lines
	}
	var order []string
	sides, compared := map[string][]string{}, 0
	for _, pair := range arms {
		for _, side := range []string{sideClient, sideServer} {
			a, b := pair[0]+"/"+side, pair[1]+"/"+side
			if of[a] == nil || with[b] == nil {
				continue
			}
			compared++
			for _, d := range of.between(a, with, b) {
				if sides[d.String()] == nil {
					order = append(order, d.String())
				}
				sides[d.String()] = append(sides[d.String()], side+" of "+pair[1])
			}
		}
	}
	for _, line := range order {
		switch {
		case slices.Contains(lines, line): // the lab says the same
		case len(sides[line]) < compared:
			lines = append(lines, line+" ("+strings.Join(sides[line], ", ")+")")
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
