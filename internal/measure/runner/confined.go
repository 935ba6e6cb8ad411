package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

// A server is a server of a tool that some arm runs on a host.
type server struct {
	program string
	// strict says that it must not run without being kept from the host's files; alone that nobody else reaches it.
	strict, alone bool
	// system is the host's, if it is one that confines nothing.
	system string
}

// checkConfined asks the hosts of the tools' servers what they can keep these from. The error says where a server would
// hand out files; Unprotected lists what else is open to strangers.
func (r *Runner) checkConfined(ctx context.Context) error {
	servers := r.toolServers()
	var mu sync.Mutex
	var wrong []string
	err := r.eachHost(ctx, func(ctx context.Context, h host.Host) error {
		all := servers[h]
		if len(all) == 0 {
			return nil
		}
		var s confine.Support
		if all[0].system != "" {
			s.Peers = "it runs " + all[0].system
		} else {
			printed, err := capture(ctx, h, []string{host.Self, confine.Verb, "--supported"})
			if err != nil {
				return err
			}
			if err := json.NewDecoder(bytes.NewReader(printed)).Decode(&s); err != nil {
				return fmt.Errorf("%s: what it can confine is not known: %w: %.200q", h.Endpoint().Name, err, printed)
			}
		}
		refused, open := judge(h.Endpoint().Name, all, s)
		mu.Lock()
		defer mu.Unlock()
		wrong, r.unprotected = append(wrong, refused...), append(r.unprotected, open...)
		return nil
	})
	if err != nil || len(wrong) == 0 {
		return err
	}
	slices.Sort(wrong)
	return errors.New("programs would hand out files of hosts, and nothing was measured:\n  " +
		strings.Join(wrong, "\n  ") + "\nMeasure with native, sockperf, qperf or iperf3 there.")
}

// toolServers are the servers of tools on each host, each once.
func (r *Runner) toolServers() map[host.Host][]server {
	servers := map[host.Host][]server{}
	for arm, w := range r.measured() {
		t, known := r.tools.Lookup(w.Tool)
		if !known {
			continue
		}
		hosts := r.hosts[arm]
		pair := hosts.Endpoints()
		p, err := t.Plan(w, pair)
		if err != nil || p.Server == nil || p.Server.Rights == nil {
			continue
		}
		s := server{program: p.Server.Argv[0], strict: p.Server.Rights.Strict, alone: r.inLab(arm)}
		if p.Confined(pair, nil).Server.Rights == nil {
			s.system = pair.Server.System.OS
		}
		if !slices.Contains(servers[hosts.Server], s) {
			servers[hosts.Server] = append(servers[hosts.Server], s)
		}
	}
	return servers
}

// judge says what is refused on a host, and what is open to others.
func judge(name string, servers []server, s confine.Support) (refused, open []string) {
	for _, one := range servers {
		switch {
		case one.strict && s.Files != "":
			refused = append(refused, fmt.Sprintf("%s: %s gives its client any file that it can read, and this host "+
				"cannot keep it from files: %s", name, one.program, s.Files))
		case one.alone:
		case s.Peers != "":
			open = append(open, fmt.Sprintf("%s: while a trial runs, %s serves whoever reaches its ports: %s", name,
				one.program, s.Peers))
		}
	}
	return refused, open
}

// Unprotected has a line for each server of a tool that serves whoever reaches it. Prepare finds them.
func (r *Runner) Unprotected() []string {
	slices.Sort(r.unprotected)
	return slices.Compact(r.unprotected)
}
