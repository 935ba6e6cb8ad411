package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// machine describes the machine that measured, and its state.
type machine struct {
	Date     time.Time
	Kernel   string
	CPU      string
	CPUs     int
	System   string
	Versions map[string]string
	// LoadBefore is the load average of the minute before the run, LoadAfter the one of its last minute.
	LoadBefore, LoadAfter string
	// Placement says which CPUs each kind of placement means.
	Placement string
	// Moves counts how often the distance between the CPUs changed within a group.
	Moves moves
}

// readMachine collects the facts that are known before the run.
func readMachine(m host.Machines) machine {
	return machine{
		Date: time.Now().UTC(), Kernel: strings.TrimSpace(readText("/proc/sys/kernel/osrelease")),
		CPU: cpuModel(readText("/proc/cpuinfo")), CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		LoadBefore: loadAverage(readText("/proc/loadavg")), Placement: placements(m),
	}
}

func placements(m host.Machines) string {
	var all []string
	for _, kind := range []string{experiment.PlacementShared, experiment.PlacementSplit} {
		client, server, err := m.CPUs(experiment.Placement{Kind: kind})
		if err != nil {
			all = append(all, fmt.Sprintf("%s: %v", kind, err))
			continue
		}
		all = append(all, fmt.Sprintf("%s: client on CPU %s, server on CPU %s", kind, numbers(client), numbers(server)))
	}
	return strings.Join(all, "; ")
}

func numbers(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	return strings.Join(words, ",")
}

// busy says that the machine had other work before the run; "" if it had none. Interleaving spreads such work over both
// sides of a row, but the intervals grow.
func (m machine) busy() string {
	load, err := strconv.ParseFloat(m.LoadBefore, 64)
	if err != nil || load <= float64(m.CPUs)/2 {
		return ""
	}
	return fmt.Sprintf("The machine was busy with other work: a load average of %s on %d CPUs before the run. "+
		"Measure again on an idle machine.", m.LoadBefore, m.CPUs)
}

// facts lists the facts of the run, each with its name.
func (m machine) facts(o options) [][2]string {
	facts := [][2]string{
		{"date", m.Date.Format(time.RFC3339)},
		{"machine", fmt.Sprintf("%d CPUs, %s, %s", m.CPUs, cmp.Or(m.CPU, "of an unknown model"), m.System)},
		{"kernel", m.Kernel},
		{"load average of the last minute", fmt.Sprintf("%s before, %s after", m.LoadBefore, m.LoadAfter)},
		{"placement", m.Placement},
		{"moved CPUs", m.Moves.String()},
		{"blocks", fmt.Sprintf("%d, seed %d, %d s for each trial", o.blocks, o.seed, o.seconds)},
	}
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		facts = append(facts, [2]string{name, m.Versions[name]})
	}
	return facts
}

// readText reads a file of /proc; "" if it cannot be read.
func readText(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// cpuModel returns the first model name in /proc/cpuinfo.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage is the first number of /proc/loadavg.
func loadAverage(loadavg string) string {
	first, _, _ := strings.Cut(loadavg, " ")
	return cmp.Or(strings.TrimSpace(first), "unknown")
}
