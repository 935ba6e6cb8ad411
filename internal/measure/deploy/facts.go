package deploy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

const (
	// readLimit bounds how long a run waits for the facts of its hosts, without the answers of providers.
	readLimit = 5 * time.Second
	// keptDevices is how many network devices of a host are kept.
	keptDevices = 16
	// maxHost bounds the facts of a host in the record, maxAll those of all hosts, in bytes of JSON.
	maxHost = 128 << 10
	maxAll  = 2 << 20
)

// keptFacts are the facts of the hosts of a run.
type keptFacts struct {
	kept    []HostFacts
	leftOut int
}

// ReadFacts reads the facts of all hosts and keeps them for the record, as the facts of a deployment (see
// result.Trial.Deployment). It returns them by arm. It never fails: facts that cannot be read are left out, with the
// reason in the record.
func (d *Deployment) ReadFacts(ctx context.Context, deployment int) map[string]result.Sides[check.Facts] {
	limited, cancel := context.WithTimeout(ctx, readLimit)
	found, _ := d.readHosts(limited) // each host has its own problem
	cancel()
	d.askProviders(ctx, found)
	for i := range found {
		found[i].Deployment = deployment
		found[i].trim()
	}
	d.facts.add(deployment, found)
	d.addMachines(deployment, found)
	arms := map[string]result.Sides[check.Facts]{}
	for _, h := range found {
		for _, side := range h.Sides {
			at := strings.LastIndex(side, "/")
			sides := arms[side[:at]]
			if side[at+1:] == clientSide {
				sides.Client = h.Facts
			} else {
				sides.Server = h.Facts
			}
			arms[side[:at]] = sides
		}
	}
	return arms
}

// Inherit takes over the facts of the hosts before, which were freed.
func (d *Deployment) Inherit(before *Deployment) { d.facts, d.machines = before.facts, before.machines }

// trim leaves out devices that are neither on the path nor hardware, and facts that are too long.
func (h *HostFacts) trim() {
	if h.Facts == nil {
		return
	}
	h.Facts.KeepDevices(keptDevices)
	if data, err := json.Marshal(h.Facts); err != nil || len(data) > maxHost {
		h.Facts, h.Problem = nil, "its facts are too long to be kept"
	}
}

// add keeps the facts of a deployment, as long as there is room. They replace earlier facts of a deployment with the
// same number, from the part of the run before an interrupt, if the hosts are made once.
func (k *keptFacts) add(deployment int, found []HostFacts) {
	k.kept = slices.DeleteFunc(slices.Clone(k.kept), func(h HostFacts) bool { return h.Deployment == deployment })
	used := 0
	for _, h := range k.kept {
		used += h.size()
	}
	for _, h := range found {
		if used += h.size(); used > maxAll {
			k.leftOut++
			continue
		}
		k.kept = append(k.kept, h)
	}
}

func (h *HostFacts) size() int {
	data, err := json.Marshal(h)
	if err != nil {
		return maxAll
	}
	return len(data)
}
