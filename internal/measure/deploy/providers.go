package deploy

import (
	"context"
	"slices"
	"strings"

	"nearfar/internal/cloud/provider"
	"nearfar/internal/declare/check"
)

// askProviders adds to the facts what the providers say about the hosts, if the experiment asks for it. It takes a
// minute at most, and never fails: an answer that is missing says why.
func (d *Deployment) askProviders(ctx context.Context, found []HostFacts) {
	clouds := d.experiment.AskProviders
	machines := make([]*check.Where, len(found))
	for i, h := range found {
		switch {
		case h.Facts == nil:
		case h.Facts.Where != nil:
			machines[i] = h.Facts.Where
		default:
			machines[i] = d.nodeOf(h.Host)
		}
	}
	asked := slices.ContainsFunc(machines, func(w *check.Where) bool {
		return w != nil && slices.Contains(clouds, w.Cloud)
	})
	if !asked {
		return
	}
	d.step("asking the providers (%s) where the hosts are", strings.Join(clouds, ", "))
	for i, answer := range provider.Ask(ctx, clouds, machines, provider.DefaultLimits()) {
		if answer != nil {
			found[i].Facts.Provider = answer
		}
	}
}

// nodeOf is the machine below a pod that reaches no metadata service, as far as the provider can be asked about it: the
// API server knows which machine of an Azure scale set a node is. It is nil for other hosts.
func (d *Deployment) nodeOf(name string) *check.Where {
	for _, kind := range d.kinds {
		made, ok := kind.(*pods)
		if !ok {
			continue
		}
		made.mu.Lock()
		id := made.facts[name].ProviderID
		made.mu.Unlock()
		if resource, ok := strings.CutPrefix(id, "azure://"); ok {
			return &check.Where{Cloud: check.CloudAzure, ResourceID: resource}
		}
	}
	return nil
}
