package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/bounded"
	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/host"
)

// The sides of an arm in HostFacts.Sides.
const (
	clientSide = "client"
	serverSide = "server"
)

// HostFacts are the facts of one host of the deployment.
type HostFacts struct {
	// Deployment is as in result.Trial: 0 if the hosts are made once.
	Deployment int    `json:"deployment,omitempty"`
	Host       string `json:"host"`
	// Sides are the sides of arms that the host takes: "l2/client". Arms in which it has the same address to reach are
	// in one element.
	Sides []string `json:"sides"`
	// Facts are nil if Problem says why they cannot be read.
	Facts   *check.Facts `json:"facts,omitempty"`
	Problem string       `json:"problem,omitempty"`
}

// HostFacts reads the facts of all hosts at the same time, with their paths to the other sides. Then it asks the
// providers of their clouds, if the experiment says so.
func (d *Deployment) HostFacts(ctx context.Context) ([]HostFacts, error) {
	found, err := d.readHosts(ctx)
	d.askProviders(ctx, found)
	return found, err
}

// readHosts reads the facts of all hosts. Only hosts outside of labs may ask a metadata service: a lab's network
// reaches none.
func (d *Deployment) readHosts(ctx context.Context) ([]HostFacts, error) {
	type place struct {
		host host.Host
		to   netip.Addr
	}
	var places []place
	var found []HostFacts
	lab := map[host.Host]bool{}
	for _, arm := range d.experiment.Arms {
		hosts := d.hosts[arm.Name]
		ends := endsOf(d.experiment, hosts.Client, hosts.Server)
		for _, side := range []struct {
			name string
			at   host.Host
			to   netip.Addr
		}{{clientSide, hosts.Client, ends.server}, {serverSide, hosts.Server, ends.client}} {
			p := place{side.at, side.to}
			lab[side.at] = lab[side.at] || arm.Lab != nil
			at := slices.Index(places, p)
			if at < 0 {
				at = len(places)
				places = append(places, p)
				found = append(found, HostFacts{Host: side.at.Endpoint().Name})
			}
			found[at].Sides = append(found[at].Sides, arm.Name+"/"+side.name)
		}
	}
	errs := inParallel(places, func(i int, p place) (err error) {
		if found[i].Facts, err = readFacts(ctx, p.host, p.to, !lab[p.host]); err == nil {
			return nil
		}
		found[i].Problem = err.Error()
		return fmt.Errorf("%s: its facts cannot be read: %w", found[i].Host, err)
	})
	return found, errors.Join(errs...)
}

const (
	// factsLimit bounds how long a host may take for its facts; metadata services take a second of it at most.
	factsLimit = 20 * time.Second
	// maxFacts bounds what it may print, in bytes.
	maxFacts = 4 << 20
)

// readFacts runs the verb that prints facts.
func readFacts(ctx context.Context, h host.Host, to netip.Addr, metadata bool) (*check.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, factsLimit)
	defer cancel()
	argv := []string{host.Self, check.Verb}
	if to.IsValid() {
		argv = append(argv, "--to", to.String())
	}
	if metadata {
		argv = append(argv, "--metadata")
	}
	printed, problems := bounded.New(maxFacts), bounded.New(4<<10)
	process, err := h.Start(ctx, host.Cmd{Argv: argv, Stdout: printed, Stderr: problems})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = process.Stop(0) }) // Wait gives the reason
	defer stop()
	if err := process.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("%w %s", err, strings.TrimSpace(string(problems.Bytes())))
	}
	var f check.Facts
	if printed.Cut() != "" {
		return nil, fmt.Errorf("they are longer than %d bytes", maxFacts)
	}
	if err := json.Unmarshal(printed.Bytes(), &f); err != nil {
		return nil, err
	}
	f.Provider = nil // no host answers for its provider
	return &f, nil
}
