package deploy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/lab"
	"nearfar/internal/onhost/host"
)

// labs makes the arms that are labs, all in one lab on this machine.
type labs struct {
	options lab.Options
	lab     *lab.Lab // nil until it is open
	wire    bool     // watch the underlay devices
}

func newLabs(e *experiment.Experiment, o Options) *labs {
	return &labs{wire: watchesWire(e), options: lab.Options{RateOnly: wiresOnlyLimitRate(e), Program: o.Program}}
}

// wiresOnlyLimitRate reports whether no wire of the experiment delays or loses packets.
func wiresOnlyLimitRate(e *experiment.Experiment) bool {
	for _, arm := range e.Arms {
		if arm.Lab == nil {
			continue
		}
		for _, element := range arm.Lab.Path {
			if element.Delay > 0 || element.Loss > 0 {
				return false
			}
		}
	}
	return true
}

// build makes the arms one after the other, because they share this machine.
func (k *labs) build(ctx context.Context, arms []experiment.Arm) (map[string]host.Hosts, error) {
	l, err := lab.Open(ctx, k.options)
	if err != nil {
		return nil, err
	}
	k.lab = l
	made := map[string]host.Hosts{}
	for _, arm := range arms {
		client, server, err := l.Build(ctx, arm.Name, *arm.Lab)
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", arm.Name, err)
		}
		var wire beginWire
		if k.wire {
			wire = func() (end func() (client, server *check.Wire)) { return l.WatchWire(arm.Name) }
		}
		made[arm.Name] = host.Hosts{
			Client: client, Server: server, Machines: withWire(l.Machines(arm.Name), wire),
		}
	}
	return made, nil
}

// observeTimeout bounds the reading of an arm's counters.
const observeTimeout = 5 * time.Second

// record reads the lab's facts and counters. Each of several arms that share hosts has an entry with the same facts.
func (k *labs) record(ctx context.Context, e *experiment.Experiment, r *Record) {
	r.Lab, r.Elements = k.lab.Facts(), map[string][]lab.ElementFacts{}
	for _, arm := range r.Lab.Arms {
		ctx, cancel := context.WithTimeout(ctx, observeTimeout)
		elements, err := k.lab.Observe(ctx, arm.Arm)
		cancel()
		if err == nil {
			r.Elements[arm.Arm] = elements
		}
	}
	for _, arm := range e.Arms {
		owner := e.HostsOf(arm.Name)
		at := slices.IndexFunc(r.Lab.Arms, func(a lab.ArmFacts) bool { return a.Arm == owner })
		if owner == arm.Name || at < 0 {
			continue
		}
		shared := r.Lab.Arms[at]
		shared.Arm, shared.HostsOf = arm.Name, owner
		r.Lab.Arms = append(r.Lab.Arms, shared)
		if elements, ok := r.Elements[owner]; ok {
			r.Elements[arm.Name] = elements
		}
	}
}

// peers are none: nobody else reaches the namespaces of a lab.
func (k *labs) peers() map[string][]netip.Prefix { return nil }

// preflight finds nothing: building a lab checks what it needs.
func (k *labs) preflight(context.Context, *experiment.Experiment, []host.Traffic) []string {
	return nil
}

func (k *labs) close() error {
	if k.lab == nil {
		return nil
	}
	return k.lab.Close()
}
