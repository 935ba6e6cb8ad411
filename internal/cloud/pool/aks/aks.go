package aks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/cloud/cloudtool"
	"nearfar/internal/cloud/pool"
)

// Label is the label of nodes that has the name of their pool.
const Label = "kubernetes.azure.com/agentpool"

// OldLabel is the same label as nodes also had before, and still have.
const OldLabel = "agentpool"

// Selector finds the nodes of a pool.
func Selector(name string) string { return Label + "=" + name }

// A Cluster is a cluster of AKS, with what makes its new pool. It is kept in the state of a migration.
type Cluster struct {
	ResourceGroup string `json:"resource_group"`
	Name          string `json:"cluster"`
	// Subscription is empty for the one that az uses.
	Subscription string `json:"subscription,omitempty"`
	// NewPool is the name of the new pool, Settings are the arguments for az that describe it; empty if none is made.
	NewPool  string   `json:"new_pool,omitempty"`
	Settings []string `json:"settings,omitempty"`
}

// A Provider is a cluster that is reached.
type Provider struct {
	Cluster
	Az Az
}

var _ pool.Provider = (*Provider)(nil)

// location are the arguments that say which cluster it is.
func (p *Provider) location() []string {
	args := []string{"--resource-group", p.ResourceGroup, "--cluster-name", p.Name}
	if p.Subscription != "" {
		args = append(args, "--subscription", p.Subscription)
	}
	return args
}

// Pools lists the pools of the cluster.
func (p *Provider) Pools(ctx context.Context) ([]NodePool, error) {
	data, err := p.Az.read(ctx, append([]string{"aks", "nodepool", "list"}, p.location()...)...)
	if err != nil {
		return nil, err
	}
	return ParseList(data)
}

// Pool finds a pool by its name.
func (p *Provider) Pool(ctx context.Context, name string) (*NodePool, error) {
	pools, err := p.Pools(ctx)
	if err != nil {
		return nil, err
	}
	return find(pools, name)
}

func find(pools []NodePool, name string) (*NodePool, error) {
	at := slices.IndexFunc(pools, func(p NodePool) bool { return p.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("%s: %w", name, errNoPool)
	}
	return &pools[at], nil
}

// Plan reads the old pool and says how a new one is made like it. An empty name is made from the old one. The
// differences are settings of the old pool that the new one will not have.
func (p *Provider) Plan(ctx context.Context, old, name, size string) (from *NodePool, differences []string, err error) {
	pools, err := p.Pools(ctx)
	if err != nil {
		return nil, nil, err
	}
	if from, err = find(pools, old); err != nil {
		return nil, nil, err
	}
	if phaseOf(from.ProvisioningState) != pool.Ready {
		return nil, nil, fmt.Errorf("pool %s is %s", old, from.ProvisioningState)
	}
	taken := func(name string) bool { _, err := find(pools, name); return err == nil }
	if name == "" {
		if name, err = NextName(old, from.OSType, taken); err != nil {
			return nil, nil, err
		}
	}
	if err := CheckName(name, from.OSType); err != nil {
		return nil, nil, err
	}
	if taken(name) {
		return nil, nil, fmt.Errorf("pool %s exists: use it with --to, or name another one with --new", name)
	}
	if p.Settings, err = from.AddArgs(size); err != nil {
		return nil, nil, err
	}
	p.NewPool = name
	for key, value := range from.Rest {
		differences = append(differences, key+": "+value)
	}
	slices.Sort(differences)
	return from, differences, nil
}

func phaseOf(state string) pool.Phase {
	switch state {
	case "Succeeded":
		return pool.Ready
	case "Failed", "Canceled":
		return pool.Failed
	}
	return pool.Changing
}

// Status says what a pool is doing.
func (p *Provider) Status(ctx context.Context, name string) (pool.Status, error) {
	pools, err := p.Pools(ctx)
	if err != nil {
		return pool.Status{}, err
	}
	found, err := find(pools, name)
	if err != nil {
		return pool.Status{Phase: pool.Absent, Detail: "absent"}, nil
	}
	return pool.Status{
		Phase: phaseOf(found.ProvisioningState), Detail: found.ProvisioningState, Nodes: found.Count,
		Migration: found.Tags[tag],
	}, nil
}

// AddCommand is the command line that asks for the new pool, without az.
func (p *Provider) AddCommand(migration string) []string {
	args := append([]string{"aks", "nodepool", "add"}, p.location()...)
	args = append(args, "--name", p.NewPool, "--no-wait")
	mark := tag + "=" + migration
	at := slices.Index(p.Settings, "--tags")
	if at < 0 {
		return append(append(args, p.Settings...), "--tags", mark)
	}
	args = append(args, p.Settings[:at+1]...)
	return append(append(args, mark), p.Settings[at+1:]...)
}

// Add asks for the new pool.
func (p *Provider) Add(ctx context.Context, migration string) error {
	return p.Az.change(ctx, p.AddCommand(migration)...)
}

// Delete asks for the deletion of a pool.
func (p *Provider) Delete(ctx context.Context, name string) error {
	if err := CheckName(name, ""); err != nil {
		return err
	}
	args := append([]string{"aks", "nodepool", "delete"}, p.location()...)
	return p.Az.change(ctx, append(args, "--name", name, "--no-wait")...)
}

// instance is the providerID of a node that is a machine of a scale set.
var instance = lazyregexp.New(`(?i)^azure:///subscriptions/([-0-9a-z]{1,64})/resourceGroups/([-\w.()]{1,90})/` +
	`providers/Microsoft\.Compute/virtualMachineScaleSets/([-\w]{1,80})/virtualMachines/[-\w]+$`)

// ScaleSet asks whether the scale set of a node has accelerated networking on all its interfaces.
func (p *Provider) ScaleSet(ctx context.Context, providerID string) pool.Finding {
	part := instance.FindStringSubmatch(providerID)
	if part == nil {
		return pool.Finding{Source: "scale set", On: pool.Unknown,
			Evidence: fmt.Sprintf("the node has the provider ID %.200q, which names no scale set", providerID)}
	}
	f := pool.Finding{Source: "scale set " + part[3], On: pool.Unknown}
	data, err := p.Az.read(ctx, "vmss", "show", "--subscription", part[1], "--resource-group", part[2],
		"--name", part[3])
	if err != nil {
		f.Evidence = err.Error()
		return f
	}
	f.On, f.Evidence = readScaleSet(data)
	return f
}

// readScaleSet reads the output of `az vmss show`.
func readScaleSet(data []byte) (on, evidence string) {
	var set cloudtool.AzureScaleSet
	if err := json.Unmarshal(data, &set); err != nil {
		return pool.Unknown, "what az says of it cannot be read: " + err.Error()
	}
	accelerated, evidence := cloudtool.AzureAccelerated(set.Profile.Network.Interfaces)
	switch {
	case accelerated == nil:
		return pool.Unknown, evidence
	case *accelerated:
		return pool.On, evidence
	}
	return pool.Off, evidence
}
