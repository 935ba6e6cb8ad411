package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// PodFacts are what is known of a pod after it was scheduled. What is not known is empty.
type PodFacts struct {
	Context   string `json:"context"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	Node      string `json:"node"`
	// Zone to CNI are facts of the node. NodeUnknown says why they are not known.
	Zone         string `json:"zone,omitempty"`
	Region       string `json:"region,omitempty"`
	InstanceType string `json:"instance_type,omitempty"`
	ProviderID   string `json:"provider_id,omitempty"`
	Kernel       string `json:"kernel,omitempty"`
	OSImage      string `json:"os_image,omitempty"`
	Runtime      string `json:"runtime,omitempty"`
	Kubelet      string `json:"kubelet,omitempty"`
	// CNI is a guess from labels and annotations of the node and the pod.
	CNI         string `json:"cni,omitempty"`
	NodeUnknown string `json:"node_unknown,omitempty"`
	// QoS is the class of the pod: Guaranteed, Burstable or BestEffort.
	QoS string `json:"qos,omitempty"`
	// CPUManager is "static" if the pod has CPUs of its own, "shared" if it has not although its requests would allow
	// it; empty if that is not visible.
	CPUManager  string   `json:"cpu_manager,omitempty"`
	HostNetwork bool     `json:"host_network,omitempty"`
	Addresses   []string `json:"addresses"`
	NodeAddress string   `json:"node_address,omitempty"`
	Image       string   `json:"image"`
	ImageID     string   `json:"image_id,omitempty"`
	ContainerID string   `json:"container_id,omitempty"`
	Restarts    int      `json:"restarts"`
	// Sidecars are containers that nearfar did not plan, such as istio-proxy.
	Sidecars     []string `json:"sidecars,omitempty"`
	RuntimeClass string   `json:"runtime_class,omitempty"`
}

// Facts are the facts of all pods of arms, by name.
func (d *Deployed) Facts(ctx context.Context) map[string]PodFacts {
	d.mu.Lock()
	pods := maps.Clone(d.pods)
	d.mu.Unlock()
	maps.DeleteFunc(pods, func(_ string, p *corev1.Pod) bool { return isWatcher(p) })
	var mu sync.Mutex
	all := map[string]PodFacts{}
	var asking sync.WaitGroup
	for name, pod := range pods {
		asking.Go(func() {
			f := d.facts(ctx, pod)
			mu.Lock()
			defer mu.Unlock()
			all[name] = f
		})
	}
	asking.Wait()
	return all
}

func (d *Deployed) facts(ctx context.Context, pod *corev1.Pod) PodFacts {
	f := PodFacts{
		Context: d.cluster.Context, Namespace: pod.Namespace, Pod: pod.Name, UID: string(pod.UID),
		Node: pod.Spec.NodeName, QoS: string(pod.Status.QOSClass), HostNetwork: pod.Spec.HostNetwork,
		NodeAddress: pod.Status.HostIP, Sidecars: sidecars(pod),
	}
	if pod.Spec.RuntimeClassName != nil {
		f.RuntimeClass = *pod.Spec.RuntimeClassName
	}
	for _, ip := range pod.Status.PodIPs {
		f.Addresses = append(f.Addresses, ip.IP)
	}
	if c := container(pod); c != nil {
		f.Image, f.ImageID, f.ContainerID, f.Restarts = c.Image, c.ImageID, c.ContainerID, int(c.RestartCount)
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	node, err := d.cluster.client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		f.NodeUnknown = clean.Line(explain("looking at node "+pod.Spec.NodeName, err).Error())
		f.CNI = guessCNI(nil, pod)
		return f
	}
	info := node.Status.NodeInfo
	f.Zone, f.Region = node.Labels[labelZone], node.Labels["topology.kubernetes.io/region"]
	f.InstanceType, f.ProviderID = node.Labels["node.kubernetes.io/instance-type"], node.Spec.ProviderID
	f.Kernel, f.OSImage, f.Runtime, f.Kubelet = info.KernelVersion, info.OSImage, info.ContainerRuntimeVersion,
		info.KubeletVersion
	f.CNI = guessCNI(node, pod)
	return f
}

// sidecars are the containers of a pod that nearfar did not plan: a service mesh adds them when the pod is made.
func sidecars(pod *corev1.Pod) (names []string) {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name != ContainerName && c.Name != initName {
			names = append(names, c.Name)
		}
	}
	return names
}

// guessCNI guesses the network plugin from what plugins write into labels and annotations. node may be nil.
func guessCNI(node *corev1.Node, pod *corev1.Pod) string {
	var keys []string
	if node != nil {
		keys = slices.AppendSeq(keys, maps.Keys(node.Labels))
		keys = slices.AppendSeq(keys, maps.Keys(node.Annotations))
	}
	keys = slices.AppendSeq(keys, maps.Keys(pod.Annotations))
	for _, plugin := range []struct{ name, part string }{
		{"cilium", "cilium.io"}, {"calico", "projectcalico.org"}, {"flannel", "flannel.alpha.coreos.com"},
		{"antrea", "antrea"}, {"ovn-kubernetes", "k8s.ovn.org"}, {"kube-ovn", "ovn.kubernetes.io"},
		{"weave", "weave.works"}, {"kube-router", "kube-router.io"}, {"azure", "kubernetes.azure.com/network"},
		{"aws-vpc-cni", "vpc.amazonaws.com"}, {"gke", "networking.gke.io"},
	} {
		if slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, plugin.part) }) {
			return plugin.name
		}
	}
	return ""
}

// CPUManager says whether a pod has CPUs of its own. cpus is the number of CPUs that its processes may use, all the
// number of CPUs of the node.
func CPUManager(pod *corev1.Pod, cpus, all int) string {
	if pod.Status.QOSClass != corev1.PodQOSGuaranteed || cpus == 0 || all == 0 {
		return ""
	}
	for _, c := range pod.Spec.Containers {
		limit, ok := c.Resources.Limits[corev1.ResourceCPU]
		if c.Name != ContainerName || !ok || limit.MilliValue()%1000 != 0 {
			continue
		}
		if int64(cpus) == limit.Value() && cpus < all {
			return "static"
		}
		return "shared"
	}
	return ""
}

// CPUManagerOf is CPUManager for a pod of the set.
func (d *Deployed) CPUManagerOf(name string, cpus, all int) string {
	if pod := d.pod(name); pod != nil {
		return CPUManager(pod, cpus, all)
	}
	return ""
}

// Addresses are where a pod is measured: its own addresses, or those of the secondary interface that the declaration of
// an arm names.
func (d *Deployed) Addresses(name string, declared *experiment.Pod) (host.Addresses, error) {
	pod := d.pod(name)
	if pod == nil {
		return host.Addresses{}, fmt.Errorf("there is no pod %s", name)
	}
	if declared != nil && declared.Interface != "" {
		return interfaceAddresses(pod, declared.Interface)
	}
	var texts []string
	for _, ip := range pod.Status.PodIPs {
		texts = append(texts, ip.IP)
	}
	return firstOfEach(append(texts, pod.Status.PodIP)), nil
}

// NodeAddresses are the addresses of the node on which a pod runs.
func (d *Deployed) NodeAddresses(name string) host.Addresses {
	pod := d.pod(name)
	if pod == nil {
		return host.Addresses{}
	}
	var texts []string
	for _, ip := range pod.Status.HostIPs {
		texts = append(texts, ip.IP)
	}
	return firstOfEach(append(texts, pod.Status.HostIP))
}

// firstOfEach is the first valid address of each IP version.
func firstOfEach(texts []string) (a host.Addresses) {
	for _, text := range texts {
		ip, err := netip.ParseAddr(text)
		switch {
		case err != nil:
		case ip.Is4() && !a.V4.IsValid():
			a.V4 = ip
		case ip.Is6() && !a.V6.IsValid():
			a.V6 = ip
		}
	}
	return a
}

// annotationNetworks is the annotation in which a meta plugin such as Multus lists the interfaces of a pod.
const annotationNetworks = "k8s.v1.cni.cncf.io/network-status"

// interfaceAddresses are the addresses of an interface of a pod. name is the interface's own name or its network's.
func interfaceAddresses(pod *corev1.Pod, name string) (host.Addresses, error) {
	text, ok := pod.Annotations[annotationNetworks]
	if !ok {
		return host.Addresses{}, fmt.Errorf("pod %s has no annotation %s, so interface %s has no known address: the "+
			"cluster has no plugin for several networks, or the pod's annotations ask for none", pod.Name,
			annotationNetworks, name)
	}
	var networks []struct {
		Name      string   `json:"name"`
		Interface string   `json:"interface"`
		IPs       []string `json:"ips"`
	}
	if err := json.Unmarshal([]byte(text), &networks); err != nil {
		return host.Addresses{}, fmt.Errorf("pod %s: the annotation %s cannot be read: %w", pod.Name,
			annotationNetworks, err)
	}
	var names []string
	for _, n := range networks {
		_, short, _ := strings.Cut(n.Name, "/")
		if n.Interface == name || n.Name == name || short == name && short != "" {
			if a := firstOfEach(n.IPs); a != (host.Addresses{}) {
				return a, nil
			}
			return host.Addresses{}, fmt.Errorf("pod %s: interface %s has no address", pod.Name, clean.Line(name))
		}
		names = append(names, clean.Line(n.Interface+" ("+n.Name+")"))
	}
	return host.Addresses{}, fmt.Errorf("pod %s has no interface %s: it has %s", pod.Name, clean.Line(name),
		strings.Join(names, ", "))
}

// Observed is a pod at a moment.
type Observed struct {
	// Pod and Node are names. Node is where the pod ran when it was ready.
	Pod, Node string
	// Changed says why the pod is not the same any more; empty if it is.
	Changed string
	// Unknown says that the API server did not tell.
	Unknown bool
}

// observeLimit bounds how long an observation may hold up a trial.
const observeLimit = requestLimit / 4

// Observe compares a pod with what it was when it was ready. It asks the API server only if no watch runs (see Follow):
// the agent in the pod, which is asked at the end of each trial, is known by its secret, so another pod cannot be taken
// for this one.
func (d *Deployed) Observe(ctx context.Context, name string) Observed {
	pod := d.pod(name)
	if pod == nil {
		return Observed{Pod: name, Unknown: true}
	}
	if now, known := d.latest(name); known {
		return Observed{Pod: name, Node: pod.Spec.NodeName, Changed: gone(pod, now)}
	}
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	changed, err := d.cluster.compare(ctx, pod)
	return Observed{Pod: name, Node: pod.Spec.NodeName, Changed: changed, Unknown: err != nil}
}

// Policies are the names of the network policies that select the pods, if nearfar makes none.
func (d *Deployed) Policies() []string { return d.policies }
