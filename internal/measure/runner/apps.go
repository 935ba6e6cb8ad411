package runner

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/base/bounded"
	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/front"
	"nearfar/internal/onhost/host"
)

// parts are what applications need on a host, with the workloads that need it.
type parts struct{ front, database []string }

// prepareApps puts the front of applications on the hosts that run it, and looks for PostgreSQL where it is started.
// Optional workloads without PostgreSQL are skipped.
func (r *Runner) prepareApps(ctx context.Context) error {
	wanted := r.partsOfApps()
	if len(wanted) == 0 {
		return nil
	}
	lacks := map[host.Host]string{}
	var mu sync.Mutex
	err := r.eachHost(ctx, func(ctx context.Context, h host.Host) error {
		p := wanted[h]
		if p == nil {
			return nil
		}
		why, err := lacksDatabase(ctx, h)
		if err == nil && len(p.front) > 0 {
			err = putFront(ctx, h)
		}
		if err != nil {
			return fmt.Errorf("the parts of an application (tool: app) cannot run on %s, and nothing was measured: %w",
				h.Endpoint().Name, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if why != "" && len(p.database) > 0 {
			lacks[h] = why
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.skipOrRefuseApps(wanted, lacks)
}

// partsOfApps lists what each host needs.
func (r *Runner) partsOfApps() map[host.Host]*parts {
	wanted := map[host.Host]*parts{}
	of := func(h host.Host) *parts {
		if wanted[h] == nil {
			wanted[h] = &parts{}
		}
		return wanted[h]
	}
	need := func(list *[]string, workload string) {
		if !slices.Contains(*list, workload) {
			*list = append(*list, workload)
		}
	}
	for arm, w := range r.measured() {
		t, known := r.tools.Lookup(w.Tool)
		if w.Mode != experiment.App || !known {
			continue
		}
		p, err := r.plan(t, w, arm)
		if err != nil {
			continue // it is reported with all other plans
		}
		hosts := r.hosts[arm]
		at := hosts.Client
		if p.Front == experiment.FrontServer {
			at = hosts.Server
		}
		need(&of(at).front, w.Name)
		if p.Database {
			need(&of(hosts.Server).database, w.Name)
		}
	}
	return wanted
}

// putFront puts the front on a host. The host removes it when it ends.
func putFront(ctx context.Context, h host.Host) error {
	system := h.Endpoint().System
	if system.OS == "" {
		system = host.System{OS: runtime.GOOS, Arch: runtime.GOARCH} // a host that is this machine
	}
	program, err := binaries.Front(system)
	if err != nil {
		return err
	}
	return h.Put(ctx, front.File, 0o755, bytes.NewReader(program.Content))
}

// lacksDatabase says why PostgreSQL cannot be started on a host; "" if nothing is known against it.
func lacksDatabase(ctx context.Context, h host.Host) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	argv := []string{host.Self, "engine", "database", "--version"}
	out, complaint := bounded.New(1<<20), bounded.New(1<<20)
	p, err := h.Start(ctx, host.Cmd{Argv: argv, Stdout: out, Stderr: complaint})
	if err != nil {
		return "", err
	}
	if p.Wait() == nil {
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(string(complaint.Bytes())), "\n")
	_, why, found := strings.Cut(lines[len(lines)-1], ": ") // behind the name of the program
	if !found {
		why = lines[len(lines)-1]
	}
	return clean.Line(why), ctx.Err()
}

// skipOrRefuseApps skips the optional workloads whose database is missing, and refuses the run if others need it.
func (r *Runner) skipOrRefuseApps(wanted map[host.Host]*parts, lacks map[host.Host]string) error {
	refusal := &MissingTools{}
	for _, h := range r.everyHost() {
		why := lacks[h]
		if why == "" {
			continue
		}
		reason := h.Endpoint().Name + ": " + why
		var needed []string
		for _, name := range wanted[h].database {
			if w, _ := r.experiment.Workload(name); w.Optional {
				r.skipped[name] = reason
			} else {
				needed = append(needed, name)
			}
		}
		if len(needed) == 0 {
			continue
		}
		refusal.Missing = append(refusal.Missing, fmt.Sprintf("%s (needed by %s)", reason, strings.Join(needed, ", ")))
		system := h.Endpoint().System
		if system.OS == "" {
			system.OS = "linux"
		}
		if how := tool.HowToInstall(tool.AppName, system, h.Endpoint().Release); how != "" {
			refusal.Install = append(refusal.Install, h.Endpoint().Name+": "+how)
		}
	}
	if len(refusal.Missing) == 0 {
		return nil
	}
	slices.Sort(refusal.Missing)
	slices.Sort(refusal.Install)
	return refusal
}
