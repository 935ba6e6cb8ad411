package deploy

import (
	"net/netip"
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// ends are the addresses between which the trials of an arm run.
type ends struct{ client, server netip.Addr }

// endsOf are the ends for the version of IP of the experiment's first workload: facts and counters belong to the path
// to one address. An end that is not known is the zero value.
func endsOf(e *experiment.Experiment, client, server host.Host) ends {
	version := 0
	if len(e.Workloads) > 0 && e.Workloads[0].IP == experiment.IPv6 {
		version = experiment.IPv6
	}
	return endsFor(version, client, server)
}

// allEnds are the ends for each version of IP that a workload uses.
func allEnds(e *experiment.Experiment, client, server host.Host) (all []ends) {
	for _, w := range e.Workloads {
		if found := endsFor(w.IP, client, server); found.server.IsValid() && !slices.Contains(all, found) {
			all = append(all, found)
		}
	}
	return all
}

// endsFor are the ends for a version of IP: 4, 6, or 0 for the one that the hosts have.
func endsFor(wanted int, client, server host.Host) ends {
	pair := host.Pair{Client: client.Endpoint(), Server: server.Endpoint()}
	_, at, err := pair.Addresses(wanted)
	if err != nil {
		return ends{}
	}
	from, _ := pair.Client.Dial.Of(version(at))
	return ends{client: known(from), server: known(at)}
}

// known is the zero value for an address that says nothing.
func known(a netip.Addr) netip.Addr {
	if a = a.Unmap().WithZone(""); a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}
