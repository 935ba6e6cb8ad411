package recordings

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// workloadName names the workload of a trial by tool, mode, protocol, message size, number of connections if there are
// several, and the setting if the tool says one: "sockperf-rr-tcp-1400B". Trials with the same name are compared with
// each other.
func workloadName(t result.Trial) string {
	parts := []string{t.Tool.Name}
	if t.Mode != t.Tool.Name {
		parts = append(parts, t.Mode)
	}
	parts = append(parts, t.Protocol)
	if t.MessageBytes != nil {
		parts = append(parts, fmt.Sprintf("%dB", *t.MessageBytes))
	}
	if n := connections(t); n != "" {
		parts = append(parts, n+"-connections")
	}
	setting := strings.ReplaceAll(t.Facts[result.FactSetting], " ", "-")
	parts = append(parts, setting)
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	name := strings.Join(parts, "-")
	if setting == "" || len(name) <= experiment.MaxName {
		return experiment.ToName(name)
	}
	// What is cut off must still tell settings apart.
	hash := crc32.ChecksumIEEE([]byte(name))
	return experiment.ToName(name[:experiment.MaxName-9]) + fmt.Sprintf("-%08x", hash)
}

// connections returns how many connections a trial had in parallel; "" for one, and if the number is unknown.
func connections(t result.Trial) string {
	if n := t.Facts["connections"]; n != "1" && n != "0" && n != "" {
		return n
	}
	streams := map[string]bool{}
	for _, m := range t.Metrics {
		if at := strings.Index(m.Scope, "stream "); at >= 0 {
			streams[m.Scope[at:]] = true
		}
	}
	if len(streams) > 1 {
		return fmt.Sprint(len(streams))
	}
	return ""
}

// oneWorkload refuses to give one name to trials with different numbers of parallel connections, because the comparison
// does not check that number. The comparison checks the other properties that trials of one workload must share.
func oneWorkload(trials []result.Trial, workload string) error {
	if workload == "" {
		return nil
	}
	for _, t := range trials {
		if first, n := connections(trials[0]), connections(t); n != first {
			return fmt.Errorf("--workload %s would give one name to trials with %s and with %s connections in "+
				"parallel: leave it out", workload, cmp.Or(first, "1"), cmp.Or(n, "1"))
		}
	}
	return nil
}

// workloadsOf lists the workloads of the trials, in the order of their first trials.
func workloadsOf(trials []result.Trial) []experiment.Workload {
	var all []experiment.Workload
	places := map[string]int{}
	for _, t := range trials {
		at, known := places[t.Workload]
		if !known {
			places[t.Workload] = len(all)
			all = append(all, experiment.Workload{
				Name: t.Workload, Tool: t.Tool.Name, Mode: t.Mode, Protocol: t.Protocol,
			})
			continue
		}
		// A property in which trials of the workload differ is left empty.
		w := &all[at]
		for _, property := range []struct {
			of   *string
			here string
		}{{&w.Tool, t.Tool.Name}, {&w.Mode, t.Mode}, {&w.Protocol, t.Protocol}} {
			if *property.of != property.here {
				*property.of = ""
			}
		}
	}
	return all
}

// pair assigns block n to the nth trial of each workload in each arm. All arms that have trials of a workload must have
// the same number of them: otherwise trials that did not run together would become a pair.
func (run *Run) pair() error {
	counts := map[[2]string]int{}
	for i := range run.Trials {
		t := &run.Trials[i]
		counts[[2]string{t.Arm, t.Workload}]++
		t.Block = counts[[2]string{t.Arm, t.Workload}]
		run.blocks = max(run.blocks, t.Block)
	}
	for _, w := range run.workloads {
		first, n := "", 0
		for _, arm := range run.plan.Arms {
			count := counts[[2]string{arm, w.Name}]
			switch {
			case count == 0 || count == n:
			case first == "":
				first, n = arm, count
			default:
				return fmt.Errorf("--paired: arm %s has %d trials of %s and arm %s has %d: with --paired the first "+
					"trials of all arms are a pair, then the second ones, and so on", first, n, w.Name, arm, count)
			}
		}
	}
	return nil
}
