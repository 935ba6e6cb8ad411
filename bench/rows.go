package main

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// sockperfCut is the part of its whole seconds that sockperf leaves out: 400 ms of warm-up, and 50 ms at the end.
const (
	sockperfCut    = sockperfWarmup + 50*time.Millisecond
	sockperfWarmup = 400 * time.Millisecond
)

// A row is one line of the first table: a figure of the native engine against the same figure of another tool.
type row struct {
	// Work and Against describe the two sides in the table.
	Work, Against string
	// Ours and Theirs name the workloads.
	Ours, Theirs string
	// Metric and Stat name the figure, which is in Unit.
	Metric, Stat, Unit string
	// Bound is what the ratio ours/theirs has to reach; nil if the row is only for information.
	Bound *bound
	// Missing says why the row cannot be measured; empty if it can.
	Missing string
}

// A group holds workloads that every block measures directly one after the other.
type group struct {
	Workloads []experiment.Workload
	Rows      []row
	Checks    []check
}

// The placements: client and server on one CPU while one request is in flight, a CPU each when both work at once.
var (
	shared = experiment.Placement{Kind: experiment.PlacementShared}
	split  = experiment.Placement{Kind: experiment.PlacementSplit}
)

// groups is everything that is measured: the table of ratios, then the checks.
func groups(seconds int) []group {
	return append(ratios(seconds), checks(seconds)...)
}

// withNewest adds the newest release of iperf3 to the streams, and a group of its own over UDP.
func withNewest(all []group, seconds int) []group {
	for i, g := range all {
		if ours := g.Workloads[0]; ours.Mode == experiment.Stream {
			theirs := as(ours, newestName)
			all[i].Workloads = slices.Concat(g.Workloads, []experiment.Workload{theirs})
			for _, r := range g.Rows {
				r.Against, r.Theirs = "iperf3, newest", theirs.Name
				all[i].Rows = append(all[i].Rows, r)
			}
		}
	}
	return append(all, datagramsAgainstIperf3(time.Duration(seconds)*time.Second))
}

// checks is the second table.
func checks(seconds int) []group {
	return []group{pacing(time.Duration(seconds) * time.Second)}
}

// ratios is the first table. Each workload runs for the given whole seconds, without its start-up. If a tool discards a
// warm-up of its own, all workloads of its group do the same.
func ratios(seconds int) []group {
	whole := time.Duration(seconds) * time.Second
	return []group{
		rrAgainstSockperf("rr-64", "TCP rr 64 B", experiment.TCP, shared, whole,
			measure{result.RTT, result.P50, atMost(1.00)}, measure{result.RTT, result.P99, atMost(1.05)}).withFloor(),
		rrAgainstSockperf("rr-64-split", "TCP rr 64 B, two CPUs", experiment.TCP, split, whole,
			measure{result.RTT, result.P50, atMost(1.00)}, measure{result.RTT, result.P99, atMost(1.05)}),
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
	return row{Work: work + ": " + words, Against: against, Ours: ours, Theirs: theirs,
		Metric: m.metric, Stat: m.stat, Unit: unit, Bound: m.bound}
}

func rrAgainstSockperf(
	name, work, protocol string, p experiment.Placement, whole time.Duration, measures ...measure,
) group {
	w := experiment.Workload{Name: name, Tool: "native", Mode: experiment.RR, Protocol: protocol,
		Request: 64, Response: 64, Warmup: sockperfWarmup, Duration: whole - sockperfCut, Placement: p}
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
	w := experiment.Workload{Name: name, Tool: "native", Mode: mode, Protocol: experiment.TCP,
		Request: size, Response: size, Duration: whole, Placement: shared}
	theirs := as(w, "netperf")
	test := map[string]string{experiment.RR: "TCP_RR", experiment.CRR: "TCP_CRR"}[mode]
	m := measure{result.TransactionRate, "", atLeast(1.00)}
	return group{
		Workloads: []experiment.Workload{w, theirs},
		Rows:      []row{m.row(work, "netperf "+test, w.Name, theirs.Name)},
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

// messagesAgainstSockperf is one-way messages at the highest rate. The messages that arrived are counted.
func messagesAgainstSockperf(whole time.Duration) group {
	w := experiment.Workload{Name: "messages-64", Tool: "native", Mode: experiment.Messages, Protocol: experiment.UDP,
		Message: 64, Batch: messageBatch, Duration: whole, Placement: split}
	theirs := as(w, throughputName)
	m := measure{result.MessageRate, "", atLeast(1.5)}
	return group{
		Workloads: []experiment.Workload{w, theirs},
		Rows:      []row{m.row("UDP 64 B one-way", "sockperf throughput --mps=max", w.Name, theirs.Name)},
	}
}

const (
	// datagram is the payload of a datagram that fits into a packet of 1500 bytes, as iperf3 takes it from the path.
	datagram = 1448
	// datagramBatch is how many of them iperf3 hands to the kernel at once with --gsro: what fits into one datagram of the
	// largest size.
	datagramBatch = 65507 / datagram
)

// datagramsAgainstIperf3 is full datagrams at the highest rate, as many at once on both sides. What arrived is counted.
// The engine's receiver sleeps between datagrams, as users have it by default, or polls. That of iperf3 takes so long
// for each datagram that it never sleeps, and takes a whole CPU: polling is the same use of CPUs.
func datagramsAgainstIperf3(whole time.Duration) group {
	w := experiment.Workload{Name: "messages-1448", Tool: "native", Mode: experiment.Messages, Protocol: experiment.UDP,
		Message: datagram, Batch: datagramBatch, Duration: whole, Placement: split}
	polls := w
	polls.Name, polls.Wait = "messages-1448-polling", experiment.WaitSpin
	theirs := experiment.Workload{Name: "stream-udp-" + newestName, Tool: newestName, Mode: experiment.Stream,
		Protocol: experiment.UDP, Message: datagram, Connections: 1, Duration: whole, Placement: split}
	g := group{Workloads: []experiment.Workload{w, polls, theirs}}
	for _, ours := range []struct{ work, name string }{
		{"UDP 1448 B one-way", w.Name}, {"UDP 1448 B one-way, polling", polls.Name},
	} {
		for _, m := range []measure{{result.Goodput, "", atLeast(1.00)}, {cpuPerGigabit, "", atMost(1.00)}} {
			g.Rows = append(g.Rows, m.row(ours.work, "iperf3 -b 0 --gsro, newest", ours.name, theirs.Name))
		}
	}
	return g
}

// as is the same workload for another tool.
func as(w experiment.Workload, tool string) experiment.Workload {
	w.Name, w.Tool = w.Name+"-"+tool, tool
	return w
}

// only keeps the rows and checks whose description matches, and the workloads that they need.
func only(all []group, match *regexp.Regexp) []group {
	var kept []group
	for _, g := range all {
		var k group
		needed := map[string]bool{}
		for _, r := range g.Rows {
			if match.MatchString(r.Work + " against " + r.Against) {
				k.Rows = append(k.Rows, r)
				needed[r.Ours], needed[r.Theirs] = true, true
			}
		}
		for _, c := range g.Checks {
			if match.MatchString(c.What + " with " + c.With) {
				k.Checks = append(k.Checks, c)
				for _, name := range c.needs() {
					needed[name] = true
				}
			}
		}
		for _, w := range g.Workloads {
			if needed[w.Name] {
				k.Workloads = append(k.Workloads, w)
			}
		}
		if len(k.Rows)+len(k.Checks) > 0 {
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
