package main

import (
	"bytes"
	"cmp"
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
	Checks   []checked
	// Failed are the trials that failed, with the reason.
	Failed []string
}

// ratios writes the outcomes as an aligned Markdown table.
func (r report) ratios() string {
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
		lines = append(lines, []string{o.Row.Work, o.Row.Against, ours, theirs, cmp.Or(o.ratio(), "-"), bound,
			cmp.Or(o.verdict(), "-"), cmp.Or(o.within(), "-")})
	}
	return aligned(lines)
}

// checks writes the second table.
func (r report) checks() string {
	lines := [][]string{{"check", "with", "value [95 % interval]", "bound", "verdict", "interval"}}
	for _, c := range r.Checks {
		lines = append(lines, []string{c.Check.What, c.Check.With, cmp.Or(c.value(), "-"), c.Check.bound(),
			cmp.Or(c.verdict(), "-"), cmp.Or(c.within(), "-")})
	}
	return aligned(lines)
}

// tables writes the tables that have lines.
func (r report) tables() string {
	var all []string
	if len(r.Outcomes) > 0 {
		all = append(all, r.ratios())
	}
	if len(r.Checks) > 0 {
		all = append(all, r.checks())
	}
	return strings.Join(all, "\n")
}

// aligned writes a Markdown table with its columns padded to equal widths.
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

// shortfalls lists the rows and checks that did not reach their bound or have no verdict.
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
	for _, c := range r.Checks {
		if v := c.verdict(); v != reached && v != noBound {
			line := fmt.Sprintf("%s, with %s: %s", c.Check.What, c.Check.With, v)
			if value := c.value(); value != "" {
				line += fmt.Sprintf(" (%s, bound %s%s)", value, c.Check.bound(), c.beyond())
			}
			list = append(list, line)
		}
	}
	return list
}

// unmeasured lists the rows and checks that should have been measured and were not.
func (r report) unmeasured() []string {
	var list []string
	for _, o := range r.Outcomes {
		if o.Row.Missing == "" && o.Blocks == 0 {
			list = append(list, o.Row.Work+" against "+o.Row.Against)
		}
	}
	for _, c := range r.Checks {
		if c.Values.Count == 0 {
			list = append(list, c.Check.What+", with "+c.Check.With)
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
	b.WriteString(r.ratios())
	b.WriteString(`
The ratio is ours divided by theirs: the median of the ratios within blocks, with its exact interval from order
statistics (confidence at least 95 %). A bound is reached if that median keeps it. The last column says where the
interval lies relative to the bound. Ours and theirs are medians over the blocks. A row without a bound is for
information.

`)
	if len(r.Checks) > 0 {
		b.WriteString("## Pacing\n\n" + r.checks())
		b.WriteString(`
A value is the median over the blocks, with its exact interval from order statistics (confidence at least 95 %). A bound
is reached if the median keeps it. A line without a bound is for information.

The clock alone is a thread on the client's CPU that does nothing but read the clock, in the same blocks as pacing. If
its own p99 is beyond the bound, no program could have kept the bound on this machine at that time.

`)
	}
	if list := r.shortfalls(); len(list) > 0 {
		b.WriteString("## What falls short\n\n- " + strings.Join(list, "\n- ") + "\n\n")
	}
	if len(r.Failed) > 0 {
		b.WriteString("## Trials that failed\n\n- " + strings.Join(r.Failed, "\n- ") + "\n\n")
	}
	b.WriteString("## How it was measured\n\n")
	for _, fact := range r.Machine.facts(r.Options) {
		fmt.Fprintf(&b, "- %s: %s\n", fact[0], fact[1])
	}
	b.WriteString(`- both sides of a row run one right after the other; their order and the order of the rows are drawn
  for each block
- client and server are two network namespaces of this machine, with one bridge between them
- rr and crr: client and server on one CPU; streams, messages and the rows that say so: a CPU for each
- with a CPU for each side, the core-to-core latency is measured before and after each trial; if it more than doubled or
  halved within a row's trials of a block, as it does when a hypervisor moves its CPUs to other cores, these trials are
  measured again, up to ` + strconv.Itoa(mostTakes) + ` times in all
- the rows of sockperf and the floor: 0.4 s of warm-up is discarded on both sides; netperf and iperf3: no warm-up on
  either side
- goodput is what the receiver got; CPU is the user and system time of both processes over their whole lives, start and
  end included, as the kernel accounts it; the time of kernel threads is not included
- messages delivered: ours as the engine's server counts them, in batches of up to 32 a call; sockperf's server prints
  no count, so the datagrams that it read are taken from the kernel's counters, per second that its client sent.
  The engine's batches travel as one packet each if the kernel and the path can do that (UDP_SEGMENT, UDP_GRO): the
  lab's links can, and a network card that segments by itself gains less
- UDP 1448 B: the receiver of iperf3 never finds its socket empty, and uses a whole CPU. Ours sleeps by default, needs
  half a CPU, and loses what comes while it is woken; the rows with polling (wait: spin) use a whole CPU too
  (docs/adr/0168-newest-iperf3-in-the-benchmark.md)
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
