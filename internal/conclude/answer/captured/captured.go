// Package captured says what was captured of the packets of trials, and what capturing costs. It knows nothing of
// headlines and verdicts, which never come from captured trials.
package captured

import (
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/inside"
	"nearfar/internal/declare/packets"
	"nearfar/internal/declare/result"
)

// Captured is what was captured of a workload. Times are in seconds, and intervals have 95 % confidence each.
type Captured struct {
	Workload string `json:"workload"`
	// Captured is the workload's captured twin, whose trials these are.
	Captured string `json:"captured"`
	// Quantity is the figure of the tool to which capturing adds: "rtt p50".
	Quantity string `json:"quantity"`
	Arms     []Arm  `json:"arms"`
}

// Arm is what was captured in one arm.
type Arm struct {
	Arm string `json:"arm"`
	// Trials is how many good captured trials there are.
	Trials int `json:"trials"`
	// Problems say why nothing was captured in trials.
	Problems []inside.Problem `json:"problems,omitempty"`
	// Machines are the machines at whose devices packets were captured: one, or the client's and then the server's. Each
	// has its own clock, and a file for each trial.
	Machines []Machine `json:"machines"`
	// Reported is the figure of the captured twin, Plain that of the workload, and Cost what capturing adds to it, paired
	// within blocks.
	Reported *inside.Measure `json:"reported,omitempty"`
	Plain    *inside.Measure `json:"plain,omitempty"`
	Cost     *inside.Measure `json:"cost,omitempty"`
}

// Machine is what was captured on one machine.
type Machine struct {
	// Side is both, client or server.
	Side string `json:"side"`
	// Files are the captures, one of each trial, relative to the run directory.
	Files []string `json:"files"`
	// Points are the devices, in the order of the path. Their packets are counted over all trials.
	Points []Point `json:"points"`
}

// Point is a device at which packets were captured.
type Point struct {
	Name    string `json:"name"`
	Packets int    `json:"packets"`
	// Dropped is how many packets of the trials are not in the captures, for want of room, and Untimed how many are not
	// because the kernel has no time for them at this device.
	Dropped uint64 `json:"dropped"`
	Untimed uint64 `json:"untimed,omitempty"`
}

// Input is what Of reads.
type Input struct {
	Workload, Captured string
	// Quantity is the figure of the tool, and Value gives it.
	Quantity string
	Value    func(result.Trial) (float64, bool)
	Arms     []string
	// Trials are the trials that may be compared, of both workloads.
	Trials []result.Trial
}

// Of says what was captured of a workload.
func Of(in Input) Captured {
	out := Captured{Workload: in.Workload, Captured: in.Captured, Quantity: in.Quantity, Arms: []Arm{}}
	for _, name := range in.Arms {
		out.Arms = append(out.Arms, in.arm(name))
	}
	return out
}

// arm sums up one arm.
func (in Input) arm(name string) Arm {
	captured, plain := in.good(name, in.Captured), in.good(name, in.Workload)
	a := Arm{Arm: name, Trials: len(captured), Machines: []Machine{}}
	for _, t := range captured {
		if len(t.Captures) == 0 {
			a.problem(inside.Problem{Text: "there is no capture"})
		}
		for _, c := range t.Captures {
			if c.File == "" {
				a.problem(inside.Problem{Side: c.Side, Text: c.Problem})
			} else {
				a.add(c)
			}
		}
	}
	with, without := in.values(captured), in.values(plain)
	a.Reported, a.Plain, a.Cost = inside.Estimate(with), inside.Estimate(without), inside.Difference(with, without)
	return a
}

// good are the trials of a workload in an arm that did not fail.
func (in Input) good(arm, workload string) (some []result.Trial) {
	for _, t := range in.Trials {
		if t.Arm == arm && t.Workload == workload && t.Error == "" {
			some = append(some, t)
		}
	}
	return some
}

// values gives the figure of the tool in each trial.
func (in Input) values(trials []result.Trial) (all []stats.Value) {
	for _, t := range trials {
		if v, ok := in.Value(t); ok {
			all = append(all, stats.Value{Block: t.Block, Value: v})
		}
	}
	return all
}

// mostProblems bounds the problems of an arm.
const mostProblems = 8

// problem counts a trial of which there is no capture.
func (a *Arm) problem(p inside.Problem) {
	same := func(one inside.Problem) bool { return one.Side == p.Side && one.Text == p.Text }
	i := slices.IndexFunc(a.Problems, same)
	if i < 0 && len(a.Problems) == mostProblems {
		i = mostProblems - 1
		a.Problems[i].Side, a.Problems[i].Text = "", "other problems"
	}
	if i < 0 {
		i, a.Problems = len(a.Problems), append(a.Problems, p)
	}
	a.Problems[i].Trials++
}

// add counts the packets of a capture.
func (a *Arm) add(c packets.Capture) {
	i := slices.IndexFunc(a.Machines, func(m Machine) bool { return m.Side == c.Side })
	if i < 0 {
		i, a.Machines = len(a.Machines), append(a.Machines, Machine{Side: c.Side, Points: []Point{}})
	}
	m := &a.Machines[i]
	m.Files = append(m.Files, c.File)
	for _, p := range c.Points {
		j := slices.IndexFunc(m.Points, func(one Point) bool { return one.Name == p.Name })
		if j < 0 {
			j, m.Points = len(m.Points), append(m.Points, Point{Name: p.Name})
		}
		sum := &m.Points[j]
		sum.Packets, sum.Dropped, sum.Untimed = sum.Packets+p.Packets, sum.Dropped+p.Dropped, sum.Untimed+p.Untimed
	}
}
