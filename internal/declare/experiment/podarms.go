package experiment

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// HasPods reports whether any arm has a pod.
func (e *Experiment) HasPods() bool {
	return slices.ContainsFunc(e.Arms, func(a Arm) bool { return a.Kubernetes != nil })
}

// PodsOf names the arm whose pods an arm uses: the first arm with the same client and server whose pods are equal. It
// is empty for an arm without pods.
//
// Arms can differ in how they use their pods and still share them: in Kubernetes.Through, Service, WatchKernel and
// Ready, and in Port, Interface and Tools of each pod. So a Service and the pod behind it are measured with the same
// pods on the same nodes. Arms that share pods have hosts of their own if they use the pods differently; see HostsOf.
func (e *Experiment) PodsOf(arm string) string {
	a, _ := e.Arm(arm)
	if a.Kubernetes == nil {
		return ""
	}
	pods := a.Kubernetes.made()
	for _, o := range e.Arms {
		if o.Kubernetes != nil && o.Client == a.Client && o.Server == a.Server &&
			reflect.DeepEqual(o.Kubernetes.made(), pods) {
			return o.Name
		}
	}
	return arm
}

// made is the part of a Kubernetes that decides which pods are made, without the part that describes how they are used.
func (k *Kubernetes) made() Kubernetes {
	made := *k
	made.Through, made.Service, made.WatchKernel, made.Ready = "", nil, false, 0
	for _, pod := range []**Pod{&made.Client, &made.Server} {
		if *pod != nil {
			p := **pod
			p.Port, p.Interface, p.Tools = 0, "", nil
			*pod = &p
		}
	}
	return made
}

// sameHosts reports whether two arms without labs use the same hosts in the same way.
func (a Arm) sameHosts(o Arm) bool {
	if a.Client != o.Client || a.Server != o.Server || (a.Kubernetes == nil) != (o.Kubernetes == nil) {
		return false
	}
	if a.Kubernetes == nil {
		return true
	}
	used, others := *a.Kubernetes, *o.Kubernetes
	used.Ready, others.Ready = 0, 0
	return reflect.DeepEqual(used, others)
}

// IsService reports whether the client dials an address or port of a Service, and not the server's pod.
func (k *Kubernetes) IsService() bool {
	return k.Through == ThroughClusterIP || k.Through == ThroughNodePort || k.Through == ThroughLoadBalancer
}

// Sides names both sides of an arm: the hosts of the file by their names, and hosts that nearfar makes after the arm
// that uses them first (see HostsOf), such as "near/client".
func (e *Experiment) Sides(a Arm) (client, server string) {
	owner := e.HostsOf(a.Name)
	return cmp.Or(a.Client, owner+"/client"), cmp.Or(a.Server, owner+"/server")
}

// HostsText describes the hosts of an arm without a lab, in a line: "vm-a to vm-b", "pod (pool=x) to pod (zone b),
// different nodes, through ClusterIP".
func (a Arm) HostsText() string {
	if a.Kubernetes == nil {
		return a.Client + " to " + a.Server
	}
	client, server := a.Client, a.Server
	if a.Kubernetes.Client != nil {
		client = a.Kubernetes.Client.String()
	}
	if a.Kubernetes.Server != nil {
		server = a.Kubernetes.Server.String()
	}
	text := client + " to " + server
	switch a.Kubernetes.Nodes {
	case NodesDifferent:
		text += ", different nodes"
	case NodesSame:
		text += ", the same node"
	case NodesDifferentZones:
		text += ", different zones"
	}
	if a.Kubernetes.Through != ThroughPod {
		text += ", through " + a.Kubernetes.Through
	}
	return text
}

// String describes where the pod runs and how it is measured: "pod (node n1, host network)".
func (p *Pod) String() string {
	var with []string
	if p.OS == PodWindows {
		with = append(with, "Windows")
	}
	if p.Node != "" {
		with = append(with, "node "+p.Node)
	}
	for _, label := range slices.Sorted(maps.Keys(p.NodeSelector)) {
		with = append(with, label+"="+p.NodeSelector[label])
	}
	if p.Zone != "" {
		with = append(with, "zone "+p.Zone)
	}
	if p.HostNetwork {
		with = append(with, "host network")
	}
	if p.Interface != "" {
		with = append(with, "interface "+p.Interface)
	}
	if len(with) == 0 {
		return "pod"
	}
	return "pod (" + strings.Join(with, ", ") + ")"
}

// CheckAnswered checks that an arm dials no Service with a ping. Services forward TCP and UDP; they answer no ICMP.
func (a Arm) CheckAnswered(c *Checker, w Workload) {
	if w.Mode == Ping && a.Kubernetes != nil && a.Kubernetes.IsService() {
		c.wrong(AtValue("tool"), "measure it in another experiment, or write through: pod or through: headless in the arm",
			"ping: arm %s dials a Service (%s), and a Service answers no ICMP", quote(a.Name), a.Kubernetes.Through)
	}
}

// PrivilegesText says which pods with more rights than those that measure the arm asks for; empty for none.
func (k *Kubernetes) PrivilegesText() string {
	if !k.WatchKernel {
		return ""
	}
	return "a pod on each node with CAP_BPF and CAP_PERFMON, which sees what the node's kernel does (watchKernel)"
}
