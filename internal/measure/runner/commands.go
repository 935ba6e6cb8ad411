package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// findCommands checks that every host has the programs of the experiment's own that its workloads run there, and that
// it runs such programs at all. Optional workloads whose programs are missing are skipped; for others the error names
// all that is missing.
func (r *Runner) findCommands(ctx context.Context) error {
	wanted := r.ownPrograms()
	lacks := map[host.Host][]string{}
	var mu sync.Mutex
	err := r.eachHost(ctx, func(ctx context.Context, h host.Host) error {
		if len(wanted[h]) == 0 {
			return nil
		}
		argv := []string{host.Self, "absent", "--commands", "--"}
		for program := range wanted[h] {
			argv = append(argv, program)
		}
		printed, err := capture(ctx, h, argv)
		if err != nil {
			return fmt.Errorf("programs of the experiment's own cannot be run, and nothing was measured: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(string(printed)) {
			lacks[h] = append(lacks[h], strings.TrimSuffix(line, "\n"))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.skipOrRefuseCommands(wanted, lacks)
}

// ownPrograms lists the programs of the experiment's own that run on each host, with the workloads that need them.
func (r *Runner) ownPrograms() map[host.Host]map[string][]string {
	wanted := map[host.Host]map[string][]string{}
	need := func(h host.Host, argv []string, workload string) {
		if len(argv) == 0 {
			return
		}
		if wanted[h] == nil {
			wanted[h] = map[string][]string{}
		}
		if !slices.Contains(wanted[h][argv[0]], workload) {
			wanted[h][argv[0]] = append(wanted[h][argv[0]], workload)
		}
	}
	for arm, w := range r.measured() {
		t, known := r.tools.Lookup(w.Tool)
		if w.Mode != experiment.CommandMode || !known {
			continue
		}
		p, err := r.plan(t, w, arm)
		if err != nil {
			continue // it is reported with all other plans
		}
		hosts := r.hosts[arm]
		need(hosts.Client, p.Client.Argv, w.Name)
		if p.Server != nil {
			need(hosts.Server, p.Server.Argv, w.Name)
			need(hosts.Server, p.ReadyCommand, w.Name)
		}
	}
	return wanted
}

// skipOrRefuseCommands skips the optional workloads whose programs are missing, and refuses the run if other workloads
// need them.
func (r *Runner) skipOrRefuseCommands(wanted map[host.Host]map[string][]string, lacks map[host.Host][]string) error {
	var missing []string
	for _, h := range r.everyHost() {
		for _, program := range lacks[h] {
			reason := clean.Line(program) + " is not installed on " + h.Endpoint().Name
			var needed []string
			for _, name := range wanted[h][program] {
				if w, _ := r.experiment.Workload(name); w.Optional {
					r.skipped[name] = reason
				} else {
					needed = append(needed, name)
				}
			}
			if len(needed) > 0 {
				missing = append(missing, fmt.Sprintf("%s (needed by %s)", reason, strings.Join(needed, ", ")))
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return errors.New("programs are missing, and nothing was measured:\n  " + strings.Join(missing, "\n  ") +
		"\nInstall them, write their paths in `client` and `server`, or mark the workload `optional: true` to go on " +
		"without it.")
}
