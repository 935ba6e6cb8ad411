package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// sockperfCut is what sockperf leaves out of its whole seconds: 400 ms of warm-up, and 50 ms at the end.
const (
	sockperfCut    = sockperfWarmup + 50*time.Millisecond
	sockperfWarmup = 400 * time.Millisecond
)

// A row is one line of the table: one figure of ours against the same figure of another tool.
type row struct {
	// Work and Against are what the table calls them.
	Work, Against string
	// Ours and Theirs name the workloads.
	Ours, Theirs string
	// Metric and Stat are the figure, in Unit.
	Metric, Stat, Unit string
	// Bound is what the ratio ours/theirs has to reach; nil where the row is only for information.
	Bound *bound
	// Missing says why the row cannot be measured; empty for one that is.
	Missing string
}

// A bound is what a ratio has to reach.
type bound struct {
	Value float64
	// Least says that the ratio has to be at least Value; at most otherwise.
	Least bool
}

func atLeast(v float64) *bound { return &bound{Value: v, Least: true} }
func atMost(v float64) *bound  { return &bound{Value: v} }

func (b bound) holds(ratio float64) bool {
	if b.Least {
		return ratio >= b.Value
	}
	return ratio <= b.Value
}

func (b bound) String() string {
	word := "at most"
	if b.Least {
		word = "at least"
	}
	return fmt.Sprintf("%s %.2f", word, b.Value)
}

// A group is workloads that are measured side by side, one right after the other, in every block.
type group struct {
	Workloads []experiment.Workload
	Rows      []row
	Proofs    []proof
	// Local is what is measured in this process instead of workloads; nil for nothing.
	Local *local
	// Blocks is in how many of the blocks the group is measured; 0 for all.
	Blocks int
}

// blocks is in how many of so many blocks the group is measured.
func (g group) blocks(all int) int {
	if g.Blocks == 0 {
		return all
	}
	return min(g.Blocks, all)
}

// The rows' placements: one CPU for both where one request is in flight, one for each where both work at a time.
var (
	shared = experiment.Placement{Kind: experiment.PlacementShared}
	split  = experiment.Placement{Kind: experiment.PlacementSplit}
)

// groups is all that is measured: the table of ratios, then the proofs.
func groups(seconds int, long bool) []group {
	return append(ratios(seconds), proofs(seconds, long)...)
}

// ratios is the table of ratios. Each workload runs for the given whole seconds, start-up excluded. Where a tool discards a warm-up
// of its own, all in its group do the same; where it has none, none does.
func ratios(seconds int) []group {
	whole := time.Duration(seconds) * time.Second
	return []group{
		rrAgainstSockperf("rr-64", "TCP rr 64 B", experiment.TCP, shared, whole,
			measure{result.RTT, result.P50, atMost(1.00)}, measure{result.RTT, result.P99, atMost(1.05)}).withFloor(),
		rrAgainstSockperf("rr-64-split", "TCP rr 64 B, two CPUs", experiment.TCP, split, whole,
			measure{result.RTT, result.P50, nil}, measure{result.RTT, result.P99, nil}),
		rrAgainstSockperf("udp-rr-64", "UDP rr 64 B", experiment.UDP, shared, whole,
			measure{result.RTT, result.P50, atMost(1.00)}),
		transactionsAgainstNetperf("rr-1", "TCP rr 1 B", experiment.RR, 1, whole),
		transactionsAgainstNetperf("rr-1024", "TCP rr 1024 B", experiment.RR, 1024, whole),
		transactionsAgainstNetperf("crr-1", "TCP crr 1 B", experiment.CRR, 1, whole),
		streamAgainstIperf3("stream-1", "TCP stream, 1 connection", 1, whole),
		streamAgainstIperf3("stream-4", "TCP stream, 4 connections", 4, whole),
		messagesAgainstSockperf(whole),
	}
}

// measure is one figure of a row, and what its ratio has to reach.
type measure struct {
	metric, stat string
	bound        *bound
}

func (m measure) row(work, against, ours, theirs string) row {
	unit, known := result.UnitOf(m.metric)
	if !known {
		unit = secondsPerGigabit
	}
	words := map[string]string{
		result.RTT: "of the RTT", result.TransactionRate: "transaction rate", result.Goodput: "goodput",
		cpuPerGigabit: "CPU of both sides per Gbit", result.MessageRate: "delivered per second",
	}[m.metric]
	if m.stat != "" {
		words = m.stat + " " + words
	}
	return row{Work: work + ": " + words, Against: against, Ours: ours, Theirs: theirs, Metric: m.metric, Stat: m.stat, Unit: unit, Bound: m.bound}
}

func rrAgainstSockperf(name, work, protocol string, p experiment.Placement, whole time.Duration, measures ...measure) group {
	w := experiment.Workload{Name: name, Tool: "native", Mode: experiment.RR, Protocol: protocol, Request: 64, Response: 64,
		Warmup: sockperfWarmup, Duration: whole - sockperfCut, Placement: p}
	g := group{Workloads: []experiment.Workload{w, as(w, "sockperf")}}
	for _, m := range measures {
		g.Rows = append(g.Rows, m.row(work, "sockperf ping-pong", w.Name, g.Workloads[1].Name))
	}
	return g
}

// withFloor adds the C loop to a group of round trips.
func (g group) withFloor() group {
	w := as(g.Workloads[0], floorName)
	g.Workloads = append(g.Workloads, w)
	m := measure{result.RTT, result.P50, atMost(1.02)}
	g.Rows = append(g.Rows, m.row("TCP rr 64 B", "the shortest C loop", g.Workloads[0].Name, w.Name))
	return g
}

func transactionsAgainstNetperf(name, work, mode string, size int, whole time.Duration) group {
	w := experiment.Workload{Name: name, Tool: "native", Mode: mode, Protocol: experiment.TCP, Request: size, Response: size,
		Duration: whole, Placement: shared}
	theirs := as(w, "netperf")
	m := measure{result.TransactionRate, "", atLeast(1.00)}
	return group{
		Workloads: []experiment.Workload{w, theirs},
		Rows:      []row{m.row(work, "netperf TCP_"+map[string]string{experiment.RR: "RR", experiment.CRR: "CRR"}[mode], w.Name, theirs.Name)},
	}
}

func streamAgainstIperf3(name, work string, connections int, whole time.Duration) group {
	w := experiment.Workload{Name: name, Tool: "native", Mode: experiment.Stream, Protocol: experiment.TCP,
		Connections: connections, Duration: whole, Placement: split}
	theirs := as(w, "iperf3")
	g := group{Workloads: []experiment.Workload{w, theirs}}
	for _, m := range []measure{{result.Goodput, "", atLeast(1.00)}, {cpuPerGigabit, "", atMost(1.00)}} {
		g.Rows = append(g.Rows, m.row(work, "iperf3", w.Name, theirs.Name))
	}
	return g
}

// messageBatch is how many messages the native engine hands to the kernel at once: its default in experiment files.
const messageBatch = 32

// messagesAgainstSockperf is one-way messages as fast as they go. What counts is what arrived.
func messagesAgainstSockperf(whole time.Duration) group {
	w := experiment.Workload{Name: "messages-64", Tool: "native", Mode: experiment.Messages, Protocol: experiment.UDP,
		Message: 64, Batch: messageBatch, Duration: whole, Placement: split}
	theirs := as(w, throughputName)
	m := measure{result.MessageRate, "", atLeast(1.5)}
	return group{Workloads: []experiment.Workload{w, theirs}, Rows: []row{m.row("UDP 64 B one-way", "sockperf throughput --mps=max", w.Name, theirs.Name)}}
}

// as is the same workload for another tool.
func as(w experiment.Workload, tool string) experiment.Workload {
	w.Name, w.Tool = w.Name+"-"+tool, tool
	return w
}

// only keeps the rows and proofs whose description matches, and the workloads that they need.
func only(all []group, match *regexp.Regexp) []group {
	var kept []group
	for _, g := range all {
		k := group{Blocks: g.Blocks}
		needed := map[string]bool{}
		for _, r := range g.Rows {
			if match.MatchString(r.Work + " against " + r.Against) {
				k.Rows = append(k.Rows, r)
				needed[r.Ours], needed[r.Theirs] = true, true
			}
		}
		for _, p := range g.Proofs {
			if match.MatchString(p.What + " with " + p.With) {
				k.Proofs = append(k.Proofs, p)
				for _, name := range p.needs() {
					needed[name] = true
				}
			}
		}
		for _, w := range g.Workloads {
			if needed[w.Name] {
				k.Workloads = append(k.Workloads, w)
			}
		}
		if g.Local != nil && needed[g.Local.Name] {
			k.Local = g.Local
		}
		if len(k.Rows)+len(k.Proofs) > 0 {
			kept = append(kept, k)
		}
	}
	return kept
}

// figure writes a value of the row.
func (r row) figure(v float64) string {
	if r.Unit == secondsPerGigabit {
		return strconv.FormatFloat(v*1e3, 'f', 2, 64) + " ms/Gbit"
	}
	return result.Amount(v, r.Unit)
}
