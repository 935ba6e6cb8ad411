package deploy

import (
	"context"

	"nearfar/internal/base/kubeclient"
	"nearfar/internal/hosts/kube"
)

// Leftovers are what runs made in a cluster.
type Leftovers struct {
	cluster    *kube.Cluster
	namespaces []string
}

// Leftover is an object in a cluster that a run made.
type Leftover = kube.Found

// Left lists the objects that were found.
type Left struct {
	Context string
	Found   []Leftover
	// Looked lists where it was looked, one line for each place.
	Looked []string
}

// PodOwner is how objects in clusters name the user of this process: "user@host".
func PodOwner() string { return kube.Owner() }

// OpenLeftovers looks at a cluster: at the namespaces, or at the whole cluster without any. It connects to nothing yet.
func OpenLeftovers(kubeconfig, context string, namespaces []string) (*Leftovers, error) {
	name, err := kubeclient.Resolve(kubeconfig, context)
	if err != nil {
		return nil, err
	}
	cluster, err := kube.Open(kubeconfig, name)
	if err != nil {
		return nil, err
	}
	return &Leftovers{cluster, namespaces}, nil
}

// Find lists what runs made, of all owners. The error says what could not be looked at.
func (l *Leftovers) Find(ctx context.Context) (Left, error) {
	found, looked, err := l.cluster.Find(ctx, l.namespaces)
	return Left{l.cluster.Context, found, looked}, err
}

// Remove deletes objects, and waits until they are gone.
func (l *Leftovers) Remove(ctx context.Context, found []Leftover, note func(text string)) error {
	return l.cluster.RemoveRuns(ctx, found, note)
}
