package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/base/bounded"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// probeTimeout bounds how long a host may take to list its missing programs, or a tool to print its version.
const probeTimeout = 20 * time.Second

// MissingTools lists all programs that are missing.
type MissingTools struct {
	// Missing has a line for each program: its name, the hosts that lack it, and the workloads that need it.
	Missing []string
	// Install has a line for each way to install one of them, with the hosts that need it.
	Install []string
}

func (m *MissingTools) Error() string {
	text := "programs are missing, and nothing was measured:\n  " + strings.Join(m.Missing, "\n  ")
	if len(m.Install) > 0 {
		text += "\nHow to install them:\n  " + strings.Join(m.Install, "\n  ")
	}
	return text + "\nInstall them, or mark the workload `optional: true` to go on without it."
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
		if missing, ok := errors.AsType[*MissingTools](err); ok {
			missing.Install = r.howToInstall(probes, absent)
		}
		return err
	}
	if err := r.checkCongestion(ctx); err != nil {
		return err
	}
	if err := r.findVersions(ctx, probes, absent); err != nil {
		return err
	}
	r.versions = r.byHost[r.hosts[r.experiment.Arms[0].Name].Client]
	return nil
}

// findVersions asks every host for the versions of the tools, and leaves out tools that are missing somewhere.
func (r *Runner) findVersions(ctx context.Context, probes map[string]tool.Probe, absent map[string][]string) error {
	var mu sync.Mutex
	return r.eachHost(ctx, func(ctx context.Context, h host.Host) error {
		versions := map[string]string{}
		for name, probe := range probes {
			if r.absence(probe, absent) != "" || len(probe.Argv) == 0 {
				continue
			}
			printed, err := capture(ctx, h, probe.At(h.Endpoint().Tools).Argv)
			if err != nil {
				return err
			}
			versions[name] = probe.Version(printed)
		}
		mu.Lock()
		defer mu.Unlock()
		r.byHost[h] = versions
		return nil
	})
}

// atOnce is how many hosts are asked at the same time.
const atOnce = 16

// eachHost calls do for every host, for several at the same time. The first error ends the others.
func (r *Runner) eachHost(ctx context.Context, do func(ctx context.Context, h host.Host) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, h := range r.everyHost() {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if err := do(ctx, h); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// everyHost lists the hosts of all arms, each once, clients before servers of an arm.
func (r *Runner) everyHost() []host.Host {
	var hosts []host.Host
	for _, arm := range r.owners() {
		for _, h := range []host.Host{r.hosts[arm].Client, r.hosts[arm].Server} {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
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
	lacks := map[host.Host][]string{}
	var mu sync.Mutex
	err := r.eachHost(ctx, func(ctx context.Context, h host.Host) error {
		paths := tool.Probe{Programs: programs}.At(h.Endpoint().Tools).Programs
		printed, err := capture(ctx, h, append([]string{host.Self, "absent"}, paths...))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(string(printed)) {
			if at := slices.Index(paths, strings.TrimSpace(line)); at >= 0 {
				lacks[h] = append(lacks[h], programs[at])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, h := range r.everyHost() {
		for _, program := range lacks[h] {
			absent[program] = append(absent[program], h.Endpoint().Name)
		}
	}
	return absent, nil
}

// absence says which program of a tool is missing and where; "" if none is.
func (r *Runner) absence(probe tool.Probe, absent map[string][]string) string {
	for _, program := range probe.Programs {
		switch hosts := absent[program]; {
		case len(hosts) == 0:
		case len(hosts) == len(r.everyHost()):
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
	clear(r.skipped) // a host can have got a tool since it was asked last
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
	out := bounded.New(1 << 20)
	p, err := h.Start(ctx, host.Cmd{Argv: argv, Stdout: out, Stderr: out})
	if err != nil {
		return nil, err
	}
	err = p.Wait()
	var exit *host.ExitError
	if err == nil || errors.As(err, &exit) && exit.Code >= 0 {
		return out.Bytes(), nil
	}
	return nil, &host.Error{Host: h.Endpoint().Name, Argv: argv, Output: string(out.Tail()), Err: err}
}
