// Package pool moves the workloads of a cluster from one pool of nodes to another one, node by node, and undoes that.
// It works on any cluster: pools are the nodes that label selectors find. A provider, such as aks, makes and deletes
// pools; without one, both pools must exist, and none is deleted.
//
// A migration is a list of steps. Each step is written to a file before it begins, and can be begun again: after a
// crash, the migration goes on from the step in the file.
package pool

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"nearfar/internal/base/kubeclient"
)

// A Cluster is the API of a cluster.
type Cluster struct{ client kubernetes.Interface }

// Open reads the kubeconfig, as kubectl does, and connects to nothing yet. context is a resolved name.
func Open(file, context string) (*Cluster, error) {
	config, err := kubeclient.Config(file, context)
	if err != nil {
		return nil, err
	}
	client, err := kubeclient.New(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{client}, nil
}

// Phase is what a pool is doing, as its provider says.
type Phase string

// The phases of a pool.
const (
	// Absent is a pool that does not exist.
	Absent Phase = "absent"
	// Ready is a pool that the provider has finished to make or change.
	Ready Phase = "ready"
	// Changing is a pool that is being made, changed or deleted.
	Changing Phase = "changing"
	// Failed is a pool that the provider could not make or change.
	Failed Phase = "failed"
)

// Status is what a provider says about a pool.
type Status struct {
	Phase Phase
	// Detail is the provider's own word, for messages.
	Detail string
	// Nodes is how many nodes the pool should have.
	Nodes int
	// Migration is the ID of the migration that made the pool; empty if none did.
	Migration string
}

// A Provider makes and deletes pools. Its methods ask for a change and do not wait until it is made.
type Provider interface {
	Status(ctx context.Context, pool string) (Status, error)
	// Add asks for the new pool of a migration. The pool carries the ID of the migration.
	Add(ctx context.Context, migration string) error
	Delete(ctx context.Context, pool string) error
}

// A Finding is what one source says about a pool's accelerated networking.
type Finding struct {
	// Source says which source gave the answer: "scale set aks-two-vmss", "guest of node x".
	Source string `json:"source"`
	// On is "on", "off" or "unknown".
	On string `json:"on"`
	// Evidence is a sentence.
	Evidence string `json:"evidence"`
}

// The values of Finding.On.
const (
	On      = "on"
	Off     = "off"
	Unknown = "unknown"
)

// Limits bound how long a migration waits. The durations are positive.
type Limits struct {
	// Nodes bounds the time until the nodes of the new pool are ready, and until a provider has deleted a pool.
	Nodes time.Duration `json:"nodes"`
	// Drain bounds the time until one node is empty.
	Drain time.Duration `json:"drain"`
	// Workloads bounds the time until all workloads are ready again after a node was drained.
	Workloads time.Duration `json:"workloads"`
	// Pace is the time between a node that was drained and the next one. It may be zero.
	Pace time.Duration `json:"pace"`
}

// DefaultLimits are the limits of a migration whose user names none.
func DefaultLimits() Limits {
	return Limits{Nodes: 20 * time.Minute, Drain: 30 * time.Minute, Workloads: 15 * time.Minute, Pace: 30 * time.Second}
}

// Consent is what the user allows. Each field has a flag of the same meaning in `kubectl drain`, except for the last
// three.
type Consent struct {
	// EmptyDir allows the deletion of pods with emptyDir volumes, whose content is lost.
	EmptyDir bool `json:"delete_emptydir_data,omitempty"`
	// Unmanaged allows the deletion of pods that no controller makes again.
	Unmanaged bool `json:"force,omitempty"`
	// Pending allows the eviction of pods that no other node can take.
	Pending bool `json:"allow_pending,omitempty"`
	// Unverified allows a new pool whose accelerated networking is off.
	Unverified bool `json:"allow_unverified,omitempty"`
	// Differences allows a new pool that lacks settings of the old one.
	Differences bool `json:"accept_differences,omitempty"`
}
