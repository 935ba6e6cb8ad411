package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A report is a whole run of the benchmark.
type report struct {
	Machine  machine
	Options  options
	Command  string
	Outcomes []outcome
	Proofs   []proven
	// Failed are the trials that failed, with the reason.
	Failed []string
}

// table writes the outcomes as an aligned Markdown table.
func (r report) table() string {
	lines := [][]string{{"work", "against", "ours", "theirs", "ratio [95 % interval]", "bound", "verdict", "interval"}}
	for _, o := range r.Outcomes {
		bound := "-"
		if o.Row.Bound != nil {
			bound = o.Row.Bound.String()
		}
		ours, theirs := "-", "-"
		if o.Ours.Known {
			ours = o.Row.figure(o.Ours.Value)
		}
		if o.Theirs.Known {
			theirs = o.Row.figure(o.Theirs.Value)
		}
		lines = append(lines, []string{o.Row.Work, o.Row.Against, ours, theirs, orDash(o.ratio()), bound, orDash(o.verdict()), orDash(o.within())})
	}
	return aligned(lines)
}

// proofs writes the second table.
func (r report) proofs() string {
	lines := [][]string{{"proof", "with", "value [95 % interval]", "bound", "verdict", "interval"}}
	for _, p := range r.Proofs {
		lines = append(lines, []string{p.Proof.What, p.Proof.With, orDash(p.value()), p.Proof.bound(), orDash(p.verdict()), orDash(p.within())})
	}
	return aligned(lines)
}

// tables are those that have lines.
func (r report) tables() string {
	var all []string
	if len(r.Outcomes) > 0 {
		all = append(all, r.table())
	}
	if len(r.Proofs) > 0 {
		all = append(all, r.proofs())
	}
	return strings.Join(all, "\n")
}

// aligned writes a Markdown table whose columns stand under one another.
func aligned(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			fmt.Fprintf(&b, "| %-*s ", widths[i], cell)
		}
		b.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				b.WriteString("|" + strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shortfalls lists what did not reach its bound, and what could not be told.
func (r report) shortfalls() []string {
	var list []string
	for _, o := range r.Outcomes {
		if v := o.verdict(); v != reached && v != noBound {
			line := fmt.Sprintf("%s against %s: %s", o.Row.Work, o.Row.Against, v)
			if ratio := o.ratio(); ratio != "" {
				line += fmt.Sprintf(" (%s, bound %s)", ratio, o.Row.Bound)
			}
			list = append(list, line)
		}
	}
	for _, p := range r.Proofs {
		if v := p.verdict(); v != reached && v != noBound {
			line := fmt.Sprintf("%s, with %s: %s", p.Proof.What, p.Proof.With, v)
			if value := p.value(); value != "" {
				line += fmt.Sprintf(" (%s, bound %s%s)", value, p.Proof.bound(), p.beyond())
			}
			list = append(list, line)
		}
	}
	return list
}

// unmeasured lists the rows and proofs that should have been measured and were not.
func (r report) unmeasured() []string {
	var list []string
	for _, o := range r.Outcomes {
		if o.Row.Missing == "" && o.Blocks == 0 {
			list = append(list, o.Row.Work+" against "+o.Row.Against)
		}
	}
	for _, p := range r.Proofs {
		if p.Values.Count == 0 {
			list = append(list, p.Proof.What+", with "+p.Proof.With)
		}
	}
	return list
}

// markdown writes RESULTS.md.
func (r report) markdown() []byte {
	var b bytes.Buffer
	b.WriteString("# Benchmark of the native engine\n\n")
	fmt.Fprintf(&b, "Written by `%s`; do not edit.\n\n", r.Command)
	if busy := r.Machine.busy(); busy != "" {
		fmt.Fprintf(&b, "**%s**\n\n", busy)
	}
	b.WriteString(r.table())
	b.WriteString(`
The ratio is ours divided by theirs: the median of the ratios within blocks, with its exact interval from order statistics
(confidence 95 % or more). A bound is reached where that median keeps it; the last column says on which side of the bound
the interval lies. Ours and theirs are medians over the blocks. A row without a bound is for information.

`)
	if len(r.Proofs) > 0 {
		b.WriteString("## Proofs\n\n" + r.proofs())
		b.WriteString(`
A value is the median over the blocks, with its exact interval from order statistics (confidence 95 % or more); what is
measured once has none. A bound is reached where the median keeps it. A line without a bound is for information.

- The stall: requests leave every millisecond, and the server does not answer in the last 200 ms of every second. A fifth of
  the requests wait for the rest of a stall, from 0 to 200 ms; so 10 % of all wait for more than 100 ms, 1 % for more than 190 ms,
  and 0.1 % for more than 199 ms. In open-loop load nothing holds the sender back, so its service time says the same as its
  response time. One request at a time (rr) sends nothing while it waits, and its percentiles hide the stall. sockperf's server is
  stopped and continued with SIGSTOP and SIGCONT; without --full-rtt it would print half: 50, 95 and 99.5 ms.
- The clock alone is a thread on the client's CPU that does nothing but read the clock, in the same blocks as pacing: where its own
  p99 is beyond the bound, no program could have kept that on this machine at the time, and the lab is not idle in the sense of
  the bound.
- Recording and merging are measured in the benchmark's own process, on histograms that are all different memory.
- The memory is the most that the client had resident, as the kernel accounts it.
`)
		fmt.Fprintf(&b, "- The stall takes long and is measured in %d of the blocks, the memory once.\n\n", min(fewestBlocks(), r.Options.blocks))
	}
	if list := r.shortfalls(); len(list) > 0 {
		b.WriteString("## What falls short\n\n")
		for _, line := range list {
			b.WriteString("- " + line + "\n")
		}
		b.WriteString("\n")
	}
	if len(r.Failed) > 0 {
		b.WriteString("## Trials that failed\n\n")
		for _, line := range r.Failed {
			b.WriteString("- " + line + "\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("## How it was measured\n\n")
	for _, fact := range r.Machine.facts(r.Options) {
		fmt.Fprintf(&b, "- %s: %s\n", fact[0], fact[1])
	}
	b.WriteString(`- both sides of a row run one right after the other, in an order drawn for every block; the rows' order is drawn too
- client and server are two network namespaces of this machine with one bridge between them
- rr and crr: client and server on one CPU; streams, messages and the rows that say so: a CPU for each
- where each side has a CPU: how long a cache line takes from the one to the other and back is measured before and after each
  trial; where it more than doubled or halved within a row's trials of a block, as it does when a hypervisor moves the CPUs to other
  cores, these are measured again, at most ` + strconv.Itoa(mostTakes) + ` times in all
- sockperf's and the floor's rows: 0.4 s of warm-up discarded on both sides; netperf's and iperf3's: none on either
- goodput is what the receiver got; CPU is the user and system time of both processes over their whole lives, start and
  end included, as the kernel accounts it to whoever waits for them, for both tools alike; what kernel threads do is in
  neither
- messages delivered: ours as the engine's server counts them, in batches of up to 32 a call; sockperf's server prints no
  count, so the datagrams that it read are taken from the kernel's counters, for each second that its client sent.
  The engine's batches travel as one packet each where the kernel and the path can (UDP_SEGMENT, UDP_GRO): the lab's
  links can, and a network card that segments by itself gains less
- the floor is bench/floor/floor.c, built with cc -O2
`)
	return b.Bytes()
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".next-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
