package deploy

import (
	"context"
	"net/netip"
	"slices"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// watchesWire says whether packets are watched on underlay devices. If one arm expects an encapsulation, this is done
// in all arms: the watch costs each packet a little, and the arms are compared with each other.
func watchesWire(e *experiment.Experiment) bool {
	return slices.ContainsFunc(e.Arms, func(a experiment.Arm) bool {
		return slices.ContainsFunc(a.Expect, func(x check.Expectation) bool {
			return x.Name == check.ExpectEncapsulation
		})
	})
}

// beginWire begins to watch the underlay devices of both sides; end ends that.
type beginWire func() (end func() (client, server *check.Wire))

// wired is machines whose underlay devices are watched during trials.
type wired struct {
	host.Machines
	begin beginWire
}

// withWire adds the watch of the underlay devices, if begin is not nil.
func withWire(m host.Machines, begin beginWire) host.Machines {
	if begin == nil {
		return m
	}
	return wired{m, begin}
}

// Watch begins with the packets and ends with them, so that the other observations lie within.
func (w wired) Watch(ctx context.Context, client, server []int) (begun func(), end func() host.Observation) {
	endWire := w.begin()
	begun, endRest := w.Machines.Watch(ctx, client, server)
	return begun, func() host.Observation {
		seen := endRest()
		seen.Client.Wire, seen.Server.Wire = endWire()
		return seen
	}
}

// Ahead is not possible: a new watch of a device replaces the one before.
func (w wired) Ahead(host.Machines) bool { return false }

// wireSide is the agent that watches the packets of one side of an arm, and the addresses of the side.
type wireSide struct {
	// agent is nil if there is none; problem says why.
	agent   *agent.Client
	problem string
	// addresses are the addresses of the trial. outer are the addresses of the machine, if the trial's addresses belong
	// to a pod on it.
	addresses, outer []netip.Addr
}

// addressesOf are the addresses that a host is known to have: those that its servers bind and those that the other side
// dials.
func addressesOf(e host.Endpoint) []netip.Addr {
	return valid(e.Bind.V4, e.Bind.V6, e.Dial.V4, e.Dial.V6)
}

// beginWires watches packets by the agents of both sides, each where packets arrive. If one side cannot be watched, the
// other side watches both directions.
func beginWires(client, server wireSide) (end func() (client, server *check.Wire)) {
	if client.agent != nil && client.agent == server.agent {
		// No packet leaves the machine. The agent says so.
		end, err := client.agent.WatchWire(agent.WireWatch{
			Own: client.addresses, Peer: server.addresses, OuterOwn: client.outer, OuterPeer: server.outer,
		})
		return func() (client, server *check.Wire) {
			seen := &check.Wire{}
			if err != nil {
				seen.Problem = err.Error()
			} else {
				seen = end()
			}
			return seen, seen
		}
	}
	sides := [2]wireSide{client, server}
	var ends [2]func() *check.Wire
	var problems [2]error
	begin := func(i int, arriving bool) {
		own, peer := sides[i], sides[1-i]
		if own.agent == nil {
			return
		}
		ends[i], problems[i] = own.agent.WatchWire(agent.WireWatch{
			Own: own.addresses, Peer: peer.addresses, OuterOwn: own.outer, OuterPeer: peer.outer, Arriving: arriving,
		})
	}
	alone := client.agent == nil || server.agent == nil
	both(func() { begin(0, !alone) }, func() { begin(1, !alone) })
	for i := range sides {
		if !alone && ends[i] != nil && ends[1-i] == nil {
			begin(i, false) // a new watch replaces the one before
		}
	}
	return func() (client, server *check.Wire) {
		var seen [2]*check.Wire
		one := func(i int) {
			switch {
			case sides[i].agent == nil:
				seen[i] = &check.Wire{Problem: sides[i].problem}
				seen[i].Bound()
			case problems[i] != nil:
				seen[i] = &check.Wire{Problem: problems[i].Error()}
				seen[i].Bound()
			default:
				seen[i] = ends[i]()
			}
		}
		both(func() { one(0) }, func() { one(1) })
		return seen[0], seen[1]
	}
}

// watchWires has the packets of all arms watched by the agents on their hosts.
func (k *given) watchWires(made map[string]host.Hosts, arms []experiment.Arm) {
	if !k.wire {
		return
	}
	for _, arm := range arms {
		hosts, ok := made[arm.Name]
		if !ok {
			continue
		}
		client := wireSide{agent: k.clients[arm.Client], addresses: addressesOf(hosts.Client.Endpoint())}
		server := wireSide{agent: k.clients[arm.Server], addresses: addressesOf(hosts.Server.Endpoint())}
		hosts.Machines = withWire(hosts.Machines, func() (end func() (client, server *check.Wire)) {
			return beginWires(client, server)
		})
		made[arm.Name] = hosts
	}
}

// valid are those of some addresses that stand for a host, each once.
func valid(some ...netip.Addr) (all []netip.Addr) {
	for _, a := range some {
		if a.IsValid() && !a.IsUnspecified() && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// wireOf watches the packets of an arm on the nodes of its pods; nil if nothing is to be watched. A side that is a host
// of the file is watched by its own agent.
func (k *pods) wireOf(arm experiment.Arm, hosts host.Hosts) beginWire {
	d, use := k.setOf(arm.Name)
	if !k.run.Wire || hosts.Client == nil || hosts.Server == nil {
		return nil
	}
	side := func(pod, named string, h host.Host) wireSide {
		s := wireSide{}
		if pod == "" {
			s.agent = k.named.clients[named]
		} else {
			k.mu.Lock()
			s = k.watchers.wires[[2]string{d.Set.Context, d.Node(pod)}]
			k.mu.Unlock()
			if s.agent == nil && s.problem == "" {
				s.problem = "no pod watches the node"
			}
		}
		s.addresses = addressesOf(h.Endpoint())
		return s
	}
	client, server := side(use.Client, arm.Client, hosts.Client), side(use.Server, arm.Server, hosts.Server)
	return func() (end func() (client, server *check.Wire)) { return beginWires(client, server) }
}
