package deploy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Peers are, for each arm that has hosts of its own, the addresses from which the server's host sees the client. An arm
// is missing if they are not known, or if they may change: then the servers of tools serve whoever reaches them.
// Preflight finds them.
func (d *Deployment) Peers() map[string][]netip.Prefix {
	all := map[string][]netip.Prefix{}
	for _, k := range d.kinds {
		maps.Copy(all, k.peers())
	}
	return all
}

// sawSources notes from which addresses a server's host got the requests of its clients. If all of them are the
// clients' own, nothing on the way translates addresses, and each arm's server can be limited to its client. A
// translation can have several addresses and change them, so with one, nothing is limited.
func (k *fleet) sawSources(server string, probes []probe, seen []netip.Addr) {
	if len(seen) == 0 {
		return
	}
	var known []netip.Addr
	for _, p := range probes {
		known = append(known, addressesOf(k.hosts[p.client].Endpoint())...)
	}
	foreign := slices.DeleteFunc(slices.Clone(seen), func(a netip.Addr) bool { return slices.Contains(known, a) })
	k.peersMu.Lock()
	defer k.peersMu.Unlock()
	moves := slices.ContainsFunc(probes, func(p probe) bool { return k.hosts[p.client].Endpoint().Moves })
	if len(foreign) > 0 || moves {
		var words []string
		for _, a := range foreign {
			words = append(words, a.String())
		}
		if len(words) == 0 {
			words = []string{"addresses that may change (nat: true)"}
		}
		k.unlimited = append(k.unlimited, fmt.Sprintf("%s sees its clients as %s, and not as the addresses that they "+
			"are known by: while a trial runs, a server of another tool than native serves whoever reaches its ports on %s",
			server, strings.Join(words, ", "), server))
		for _, p := range probes {
			k.limits[p.traffic.Arm] = nil
		}
		return
	}
	for _, p := range probes {
		if old, done := k.limits[p.traffic.Arm]; done && old == nil {
			continue // another address of the server is behind a translation
		}
		for _, a := range addressesOf(k.hosts[p.client].Endpoint()) {
			limit := netip.PrefixFrom(a, a.BitLen())
			if !slices.Contains(k.limits[p.traffic.Arm], limit) {
				k.limits[p.traffic.Arm] = append(k.limits[p.traffic.Arm], limit)
			}
		}
	}
}

// peers are the limits of all arms that have some.
func (k *fleet) peers() map[string][]netip.Prefix {
	k.peersMu.Lock()
	defer k.peersMu.Unlock()
	all := maps.Clone(k.limits)
	maps.DeleteFunc(all, func(_ string, p []netip.Prefix) bool { return len(p) == 0 })
	return all
}

// sayUnlimited warns of the servers that cannot be limited to their clients.
func (k *fleet) sayUnlimited(step func(format string, args ...any)) {
	k.peersMu.Lock()
	defer k.peersMu.Unlock()
	slices.Sort(k.unlimited)
	for _, text := range slices.Compact(k.unlimited) {
		step("warning: %s", text)
	}
	k.unlimited = nil
}
