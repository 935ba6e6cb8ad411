package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// maxCandidates bounds how many addresses of a host are asked about.
const maxCandidates = 8

// routeOf asks a host's kernel how packets to an address leave it; false if it does not say.
type routeOf func(to netip.Addr) (check.Route, bool)

// end is one of two hosts that measure between each other.
type end struct {
	name      string
	addresses []agent.Interface
	route     routeOf
}

// between is a pair of addresses, such that each host's kernel sends to the other's address from its own.
type between struct {
	a, b netip.Addr
	// device is the network device of b.
	device string
}

// routes finds the pairs of addresses of a version of IP between two hosts: a's kernel sends to b's address from a's,
// and b's kernel sends back from b's. An address that both hosts have, such as that of a bridge for containers, is
// none. asked is false if a kernel does not say.
func routes(a, b end, version int) (found []between, asked bool) {
	own := map[netip.Addr]bool{}
	for _, i := range a.addresses {
		own[i.Prefix.Addr()] = true
	}
	for _, i := range candidates(b, version) {
		at := i.Prefix.Addr()
		if own[at] {
			continue
		}
		there, ok := a.route(at)
		if !ok {
			return nil, false
		}
		if there.Local || !own[there.Source] {
			continue
		}
		back, ok := b.route(there.Source)
		if !ok {
			return nil, false
		}
		if !back.Local && back.Source == at {
			found = append(found, between{there.Source, at, i.Name})
		}
	}
	return found, true
}

// candidates are the addresses of a host that other hosts could reach.
func candidates(e end, version int) (all []agent.Interface) {
	for _, i := range e.addresses {
		at := i.Prefix.Addr()
		if !at.IsLoopback() && at.Is4() == (version == experiment.IPv4) && len(all) < maxCandidates {
			all = append(all, i)
		}
	}
	return all
}

// measuresAt sets the addresses of hosts for which the file gives none, and that have several: those on the route to
// the hosts that they measure with, by the kernels of both. It tells which they are. Doubt is an error.
func (k *given) measuresAt(ctx context.Context, arms []experiment.Arm) error {
	ends := map[string]end{}
	for name, c := range k.clients {
		h := c.Host()
		ends[name] = end{name, c.Known().Addresses, func(to netip.Addr) (check.Route, bool) {
			f, err := readFacts(ctx, h, to, false)
			switch {
			case err != nil:
				return check.Route{}, false
			case f.Path == nil: // there is no route, where the system says so
				return check.Route{}, c.Known().System.OS == "linux"
			}
			return f.Path.Route, true
		}}
	}
	chosen := map[string]host.Addresses{}
	var problems []string
	for _, arm := range arms {
		a, b := ends[arm.Client], ends[arm.Server]
		if arm.Client == "" || arm.Server == "" || arm.Client == arm.Server {
			continue
		}
		for _, version := range []int{experiment.IPv4, experiment.IPv6} {
			if len(candidates(a, version)) < 2 && len(candidates(b, version)) < 2 {
				continue
			}
			found, asked := routes(a, b, version)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !asked {
				continue // the address stays the first one
			}
			if problem := k.choose(chosen, a.name, b.name, version, found); problem != "" {
				problems = append(problems, problem)
			}
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return errors.New("it is not clear where to measure, and nothing was measured:\n  " +
			strings.Join(slices.Compact(problems), "\n  "))
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		k.clients[name].MeasureAt(chosen[name])
	}
	for _, arm := range arms {
		if arm.Client == "" || arm.Server == "" {
			continue
		}
		for _, e := range allEnds(k.experiment, k.clients[arm.Client].Host(), k.clients[arm.Server].Host()) {
			if e.client.IsValid() {
				k.options.Step("%s: measures between %s (%s) and %s (%s)", arm.Name, arm.Client, e.client, arm.Server, e.server)
			}
		}
	}
	return nil
}

// Between is the two addresses between which the trials of an arm run: the client's address, if it is known, and the
// server's address, which the client dials.
type Between struct {
	Client netip.Addr `json:"client,omitzero"`
	Server netip.Addr `json:"server"`
}

// between are the addresses between which the arms measure that have no lab, by arm: one pair for each version of IP
// that a workload uses.
func (d *Deployment) between() map[string][]Between {
	all := map[string][]Between{}
	for _, arm := range d.experiment.Arms {
		hosts, ok := d.hosts[arm.Name]
		if !ok || arm.Lab != nil {
			continue
		}
		for _, e := range allEnds(d.experiment, hosts.Client, hosts.Server) {
			all[arm.Name] = append(all[arm.Name], Between{e.client, e.server})
		}
	}
	return all
}

// choose takes the only pair of addresses between two hosts, for those of them whose address the file does not give. It
// returns a problem if there are several pairs, or if another arm measures the same host elsewhere.
func (k *given) choose(chosen map[string]host.Addresses, a, b string, version int, found []between) (problem string) {
	fixed := func(name string) netip.Addr {
		at, _ := Endpoint(k.specs[name]).Dial.Of(version)
		return at
	}
	found = slices.DeleteFunc(slices.Clone(found), func(f between) bool {
		at, from := fixed(b), fixed(a)
		return at.IsValid() && f.b != at || from.IsValid() && f.a != from
	})
	if len(found) > 1 {
		var all []string
		for _, f := range found {
			all = append(all, fmt.Sprintf("%s (%s)", f.b, f.device))
		}
		key := "address"
		if version == experiment.IPv6 {
			key = "address6"
		}
		return fmt.Sprintf("%s reaches %s at several addresses: %s. Say which one: %s: {..., %s: %s}",
			a, b, strings.Join(all, ", "), b, key, found[0].b)
	}
	if len(found) == 0 {
		return "" // such as behind an address translation: the check of the ports says whether it works
	}
	for name, at := range map[string]netip.Addr{a: found[0].a, b: found[0].b} {
		if fixed(name).IsValid() {
			continue
		}
		of := chosen[name]
		before := &of.V4
		if version == experiment.IPv6 {
			before = &of.V6
		}
		if before.IsValid() && *before != at {
			return fmt.Sprintf("%s has one address for all arms, and is reached at %s in one and at %s in another: "+
				"name the machine twice in 'hosts', each with its address", name, *before, at)
		}
		*before = at
		chosen[name] = of
	}
	return ""
}
