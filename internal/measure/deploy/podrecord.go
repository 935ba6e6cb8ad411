package deploy

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/kube"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// Pods is the part of a Record about the pods of a run.
type Pods struct {
	// Run is the id in the names and labels of all objects.
	Run      string       `json:"run"`
	Clusters []PodCluster `json:"clusters"`
	// Pods are where the pods were, by the names of Record.Machines.
	Pods map[string]kube.PodFacts `json:"pods"`
	// Arms are how arms used the pods, by arm.
	Arms map[string]PodArm `json:"arms"`
}

// PodCluster is one namespace of a cluster.
type PodCluster struct {
	Context string `json:"context"`
	// Version is the version of the API server; empty if it is not known.
	Version   string `json:"version,omitempty"`
	Namespace string `json:"namespace"`
	// Made says that nearfar made the namespace.
	Made bool `json:"made"`
	// Security is the level of the Pod Security Standards that the pods need, SecurityWhy what needs more than
	// restricted.
	Security    string   `json:"security"`
	SecurityWhy []string `json:"security_why,omitempty"`
	// Policies are network policies that others made and that select the pods of arms with networkPolicy: leave.
	Policies []string `json:"policies,omitempty"`
}

// PodArm says what the client of an arm dialled.
type PodArm struct {
	Through  string     `json:"through"`
	Service  string     `json:"service,omitempty"`
	Address  netip.Addr `json:"address,omitzero"`
	Address6 netip.Addr `json:"address6,omitzero"`
	// Port is the first of the four ports for measuring.
	Port int `json:"port"`
}

// record adds the pods, and the facts of their agents.
func (k *pods) record(ctx context.Context, e *experiment.Experiment, r *Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.addTo(ctx, r)
	r.Pods = &Pods{Run: k.run.ID, Pods: maps.Clone(k.facts), Arms: map[string]PodArm{}}
	for _, arm := range e.Arms {
		if arm.Kubernetes != nil {
			owner := e.HostsOf(arm.Name)
			r.Sides[arm.Name], r.Pods.Arms[arm.Name] = k.sides[owner], k.arms[owner]
		}
	}
	for _, d := range k.deployed {
		s := d.Set
		r.Pods.Clusters = append(r.Pods.Clusters, PodCluster{
			Context: s.Context, Version: d.Version, Namespace: s.Namespace, Made: s.Made, Security: s.Level,
			SecurityWhy: s.Why, Policies: d.Policies(),
		})
	}
}

// podWarnings warns of containers that others have put into the pods.
func podWarnings(p *Pods) (warnings []result.Warning) {
	if p == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Pods)) {
		if f := p.Pods[name]; len(f.Sidecars) > 0 {
			warnings = append(warnings, result.Warning{Code: "pod-sidecars", Message: sidecarText(name, f)})
		}
	}
	return warnings
}

// sidecarText says that a pod has containers that nearfar did not plan.
func sidecarText(name string, f kube.PodFacts) string {
	return fmt.Sprintf("the pod of %s has containers that nearfar did not ask for: %s. If they belong to a service "+
		"mesh, its proxies are a part of what is measured", name, strings.Join(f.Sidecars, ", "))
}

// podMachines are the machines of an arm with pods.
type podMachines struct {
	machines
	deployed *kube.Deployed
	// pods are the names of the client's and the server's pods; empty for a host of the file.
	pods [2]string
	// lookouts are where the kernels below the two are watched.
	lookouts [2]host.Lookout

	mu   sync.Mutex
	lost error // why a pod is not the same any more
}

// Kernels are those of the pods' nodes.
func (m *podMachines) Kernels() host.Kernels {
	return host.Kernels{One: m.same, Client: m.lookouts[0], Server: m.lookouts[1]}
}

// Watch also compares the pods with what they were when they were made, at the end of the trial.
func (m *podMachines) Watch(ctx context.Context, client, server []int) (begun func(), end func() host.Observation) {
	begun, watched := m.machines.Watch(ctx, client, server)
	return begun, func() host.Observation {
		seen := watched()
		pods := m.observe(ctx)
		seen.Facts = map[string]string{}
		for i, side := range []string{kube.Client, kube.Server} {
			if m.pods[i] == "" {
				continue
			}
			seen.Facts[side+".pod"], seen.Facts[side+".node"] = pods[i].Pod, pods[i].Node
			if pods[i].Unknown {
				seen.Facts[side+".pod.checked"] = "no: the API server did not answer"
				continue
			}
			[]*host.Seen{&seen.Client, &seen.Server}[i].Node = pods[i].Node
		}
		return seen
	}
}

// observe looks at both pods at the same time.
func (m *podMachines) observe(ctx context.Context) (pods [2]kube.Observed) {
	var all sync.WaitGroup
	for i, name := range m.pods {
		if name != "" {
			all.Go(func() { pods[i] = m.deployed.Observe(ctx, name) })
		}
	}
	all.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, seen := range pods {
		if seen.Changed != "" && m.lost == nil {
			name := [...]*agent.Client{m.client, m.server}[i].Host().Endpoint().Name
			m.lost = host.Lost(name, seen.Changed)
		}
	}
	return pods
}

// Lost says which pod no longer exists or was replaced.
func (m *podMachines) Lost() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return m.lost
	}
	return m.machines.Lost()
}
