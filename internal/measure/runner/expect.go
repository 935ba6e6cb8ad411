package runner

import (
	"fmt"
	"net/netip"
	"strconv"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// observe writes into a trial where its hosts were and which counters changed, and judges the expectations of its arm.
// A failed trial is not judged: it has no figures that an expectation could be about.
func (r *Runner) observe(trial *result.Trial, w experiment.Workload, hosts host.Hosts, seen host.Observation) {
	facts := r.deployed.facts[trial.Arm]
	sides := check.Trial{
		Client: check.Side{Facts: facts.Client, Counters: seen.Client.Counters, Node: seen.Client.Node,
			Wire: seen.Client.Wire},
		Server: check.Side{Facts: facts.Server, Counters: seen.Server.Counters, Node: seen.Server.Node,
			Wire: seen.Server.Wire},
		Protocol: trial.Protocol, PathMTU: pathMTU(trial.Facts),
	}
	if r.deployed.known {
		client := facts.Client.Place(hosts.Client.Endpoint().Name, seen.Client.Node)
		server := facts.Server.Place(hosts.Server.Endpoint().Name, seen.Server.Node)
		trial.Observed = &result.Sides[check.Place]{Client: &client, Server: &server}
	}
	if seen.Client.Counters != nil || seen.Server.Counters != nil {
		trial.Counters = &result.Sides[check.Counters]{
			Client: seen.Client.Counters.Compact(), Server: seen.Server.Counters.Compact(),
		}
	}
	if seen.Client.Wire != nil || seen.Server.Wire != nil {
		trial.Wire = &result.Sides[check.Wire]{Client: seen.Client.Wire, Server: seen.Server.Wire}
	}
	for _, side := range []struct {
		name string
		seen host.Seen
	}{{"client", seen.Client}, {"server", seen.Server}} {
		for _, limit := range side.seen.Counters.Limits() {
			trial.Notes = append(trial.Notes, fmt.Sprintf("%s on the %s, so this trial shows the limiter: %s.",
				result.NoteLimiter, side.name, limit))
		}
	}
	arm, _ := r.experiment.Arm(trial.Arm)
	if trial.Error != "" || len(arm.Expect) == 0 {
		return
	}
	sides.Client.Sent, sides.Server.Sent = amounts(trial, w)
	_, dialled, err := hosts.Endpoints().Addresses(w.IP)
	if err != nil {
		dialled = netip.Addr{}
	}
	sides.Client.Facts = overPath(sides.Client.Facts, dialled)
	sides.Server.Facts = overPath(sides.Server.Facts, dialled)
	for _, e := range arm.Expect {
		trial.Expect = append(trial.Expect, check.Judge(e, sides))
	}
}

// pathMTU is the smallest path MTU that the sockets of a trial reported, in bytes; 0 if none did.
func pathMTU(facts map[string]string) int {
	smallest := 0
	for _, name := range []string{"path_mtu", "server.path_mtu"} {
		if n, err := strconv.Atoi(facts[name]); err == nil && n > 0 && (smallest == 0 || n < smallest) {
			smallest = n
		}
	}
	return smallest
}

// overPath gives the facts for a trial of the IP version of an address. If the path was read for the other version, the
// path is not known.
func overPath(f *check.Facts, at netip.Addr) *check.Facts {
	if f == nil || f.Path == nil || f.Path.To.Unmap().Is4() == at.Unmap().Is4() {
		return f
	}
	without := *f
	without.Path = nil
	return &without
}
