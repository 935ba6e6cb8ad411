package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/tool"
)

// probeTimeout bounds how long a host may take to list its missing programs, or a tool to print its version.
const probeTimeout = 20 * time.Second

// MissingTools lists all programs that are missing.
type MissingTools struct {
	// Missing has a line for each program: its name, the hosts that lack it, and the workloads that need it.
	Missing []string
}

func (m *MissingTools) Error() string {
	return "programs are missing, and nothing was measured:\n  " + strings.Join(m.Missing, "\n  ") +
		"\nInstall them, or mark the workload `optional: true` to go on without it."
}

// findTools checks that the hosts of every arm have each tool, and finds its version. Optional workloads whose tool is
// missing are skipped; for others the error names everything that is missing.
func (r *Runner) findTools(ctx context.Context) error {
	probes, err := r.probes()
	if err != nil {
		return err
	}
	absent, err := r.absentPrograms(ctx, probes)
	if err != nil {
		return err
	}
	if err := r.skipOrRefuse(probes, absent); err != nil {
		return err
	}
	client := r.hosts[r.experiment.Arms[0].Name].Client
	for name, probe := range probes {
		if r.absence(probe, absent) != "" {
			continue
		}
		printed, err := capture(ctx, client, probe.Argv)
		if err != nil {
			return err
		}
		r.versions[name] = probe.Version(printed)
	}
	return nil
}

// probes lists the probes of the tools that the workloads use, by tool.
func (r *Runner) probes() (map[string]tool.Probe, error) {
	probes := map[string]tool.Probe{}
	for _, w := range r.everyWorkload() {
		t, ok := r.tools.Lookup(w.Tool)
		if !ok {
			return nil, fmt.Errorf("workload %s: nearfar cannot run %s", w.Name, w.Tool)
		}
		probes[w.Tool] = t.Probe()
		if w.Background == nil {
			continue
		}
		if t, ok = r.tools.Lookup(w.Background.Tool); !ok {
			return nil, fmt.Errorf("workload %s: nearfar cannot run %s, its background", w.Name, w.Background.Tool)
		}
		probes[w.Background.Tool] = t.Probe()
	}
	return probes, nil
}

// everyWorkload lists the workloads as declared, and those that arms change by setting keys.
func (r *Runner) everyWorkload() []experiment.Workload {
	all := slices.Clone(r.experiment.Workloads)
	for _, arm := range r.experiment.Arms {
		all = append(all, arm.Workloads...)
	}
	return all
}

// owners are the arms that have hosts of their own. Each other arm uses the hosts of one of them.
func (r *Runner) owners() []string {
	var names []string
	for _, arm := range r.experiment.Arms {
		if r.experiment.HostsOf(arm.Name) == arm.Name {
			names = append(names, arm.Name)
		}
	}
	return names
}

// absentPrograms lists the hosts that lack each program.
func (r *Runner) absentPrograms(ctx context.Context, probes map[string]tool.Probe) (map[string][]string, error) {
	var programs []string
	for _, probe := range probes {
		programs = append(programs, probe.Programs...)
	}
	programs = slices.DeleteFunc(programs, func(p string) bool { return p == host.Self })
	slices.Sort(programs)
	programs = slices.Compact(programs)
	absent := map[string][]string{}
	if len(programs) == 0 {
		return absent, nil
	}
	for _, arm := range r.owners() {
		hosts := r.hosts[arm]
		for _, h := range []host.Host{hosts.Client, hosts.Server} {
			printed, err := capture(ctx, h, append([]string{host.Self, "absent"}, programs...))
			if err != nil {
				return nil, err
			}
			for _, program := range strings.Fields(string(printed)) {
				absent[program] = append(absent[program], h.Endpoint().Name)
			}
		}
	}
	return absent, nil
}

// absence says which program of a tool is missing and where; "" if none is.
func (r *Runner) absence(probe tool.Probe, absent map[string][]string) string {
	for _, program := range probe.Programs {
		switch hosts := absent[program]; {
		case len(hosts) == 0:
		case len(hosts) == 2*len(r.owners()):
			return program + " is not installed"
		default:
			return fmt.Sprintf("%s is not installed on %s", program, strings.Join(hosts, ", "))
		}
	}
	return ""
}

// skipOrRefuse skips the optional workloads whose tool is missing, and refuses the run if other workloads need it.
func (r *Runner) skipOrRefuse(probes map[string]tool.Probe, absent map[string][]string) error {
	needed := map[string][]string{}
	for _, w := range r.experiment.Workloads {
		reason := r.absence(probes[w.Tool], absent)
		switch {
		case reason == "":
		case w.Optional:
			r.skipped[w.Name] = reason
		default:
			needed[reason] = append(needed[reason], w.Name)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	refusal := &MissingTools{}
	for reason, workloads := range needed {
		refusal.Missing = append(refusal.Missing, fmt.Sprintf("%s (needed by %s)", reason,
			strings.Join(workloads, ", ")))
	}
	slices.Sort(refusal.Missing)
	return refusal
}

// capture runs a command and returns what it prints. It ignores the exit status: some tools print their version and
// exit with 1.
func capture(ctx context.Context, h host.Host, argv []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	out := newBounded(1 << 20)
	p, err := h.Start(ctx, host.Cmd{Argv: argv, Stdout: out, Stderr: out})
	if err != nil {
		return nil, err
	}
	err = p.Wait()
	var exit *host.ExitError
	if err == nil || errors.As(err, &exit) && exit.Code >= 0 {
		return out.Bytes(), nil
	}
	return nil, &host.Error{Host: h.Endpoint().Name, Argv: argv, Output: string(out.tail()), Err: err}
}
