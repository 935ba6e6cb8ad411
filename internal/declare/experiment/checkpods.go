package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxPods is the greatest length in bytes of what a recorded arm says of its pods, as JSON. A file within its limits
// has less.
const maxPods = 8 << 20

// Check checks what an arm says about its pods. arm names the arm in messages.
func (k *Kubernetes) Check(c *Checker, arm string, tools Tools) {
	c.texts(k.Texts())
	for _, side := range sides() {
		if pod := k.pod(side); pod != nil {
			pod.check(c.In(side), side+" of kubernetes of "+arm, tools)
		}
	}
	c.words(k.Words())
	if k.Nodes != "" && (k.Client == nil || k.Server == nil) && c.sound("nodes") {
		c.wrong(AtKey("nodes"), "leave nodes out", "nodes is about two pods, and %s has one", arm)
	}
	c.spans(AtValue("ready"), "ready", k.Ready, minReady, maxReady)
	if k.Service != nil {
		in := c.In("service")
		in.texts(k.Service.Texts())
		in.labels("annotations", k.Service.Annotations, checkAnnotation)
	}
}

// sides are the keys of the two hosts of an arm.
func sides() []string { return []string{"client", "server"} }

// pod is the pod of a side; nil for none.
func (k *Kubernetes) pod(side string) *Pod {
	if side == "client" {
		return k.Client
	}
	return k.Server
}

// CheckTogether checks what the keys of an arm's pods say together. Each alone is right.
func (k *Kubernetes) CheckTogether(c *Checker, arm string) {
	k.checkThrough(c, arm)
	k.checkService(c)
	k.checkNodes(c)
	for _, side := range sides() {
		if pod := k.pod(side); k.WatchKernel && pod != nil && pod.OS == PodWindows {
			c.wrong(AtKey("watchKernel"), "leave watchKernel out",
				"watchKernel: only Linux can be watched, and the %s of %s is a pod on Windows", side, arm)
		}
		if pod := k.pod(side); k.Namespace == "" && pod != nil && len(pod.ImagePullSecrets) > 0 {
			c.wrong(AtKey(side, "imagePullSecrets"), "add namespace: NAME, a namespace that has the secrets",
				"imagePullSecrets: the namespace that nearfar makes has no secrets")
		}
	}
}

// checkThrough checks that the client can dial the server in the way that the arm says.
func (k *Kubernetes) checkThrough(c *Checker, arm string) {
	at := AtValue("through")
	switch {
	case k.Server == nil && (k.Through != ThroughPod || c.given("through")):
		c.wrong(AtKey("through"), "leave through out",
			"through says how the client reaches a server pod, and %s has none", arm)
	case k.Through == ThroughPod:
	case k.Through == ThroughHeadless && k.Client == nil:
		c.wrong(at, "write pod, which is the same address",
			"headless: the name of a Service is known inside the cluster, and the client of %s is no pod", arm)
	case k.Server.Interface != "":
		c.wrong(at, "leave interface out, or write pod",
			"%s: a Service leads to the pod's own address, and not to its interface %s", k.Through,
			quote(k.Server.Interface))
	case k.Through == ThroughNodePort && k.Server.HostNetwork:
		c.wrong(at, "leave hostNetwork out, or write pod",
			"NodePort: the pod on the host network would listen at the port that the node forwards")
	case k.Through == ThroughNodePort && k.Server.Port != 0 &&
		(k.Server.Port < MinNodePort || k.Server.Port > MaxNodePort-3):
		c.wrong(AtValue("server", "port"),
			fmt.Sprintf("write %d to %d, or leave port out: nearfar then chooses ports", MinNodePort, MaxNodePort-3),
			"NodePort: port %d is the first of four, and not all of them are ports of nodes", k.Server.Port)
	}
}

// checkService checks that the arm has the Service about which it says something, and that it is of this kind.
func (k *Kubernetes) checkService(c *Checker) {
	switch {
	case k.Service == nil:
	case k.Through == ThroughPod:
		c.wrong(AtKey("service"), "write through: LoadBalancer, or leave service out",
			"service: this arm dials the pod, and has no Service")
	case k.Service.LoadBalancerClass != "" && k.Through != ThroughLoadBalancer:
		c.wrong(AtKey("service"), "write through: LoadBalancer, or leave loadBalancerClass out",
			"service: loadBalancerClass is for through: LoadBalancer, and through is %s", k.Through)
	}
}

// checkNodes checks that two pods can run on such nodes as the arm asks for.
func (k *Kubernetes) checkNodes(c *Checker) {
	a, b := k.Client, k.Server
	if a == nil || b == nil {
		return
	}
	at := c.firstGiven("nodes")
	switch same := a.Node != "" && a.Node == b.Node; {
	case k.Nodes == "":
		c.wrong(at, "write nodes: different", "nothing says which nodes two pods need")
	case k.Nodes != NodesSame && same:
		c.wrong(at, "write nodes: same, or name two nodes", "client and server are on node %s, and nodes is %s",
			quote(a.Node), k.Nodes)
	case k.Nodes == NodesSame && a.Node != "" && b.Node != "" && !same:
		c.wrong(at, "write nodes: different, or name one node",
			"client is on node %s and server on node %s, and nodes is same", quote(a.Node), quote(b.Node))
	case k.Nodes == NodesDifferentZones && a.Zone != "" && a.Zone == b.Zone:
		c.wrong(at, "write nodes: different, or name two zones", "client and server are in zone %s, and nodes is %s",
			quote(a.Zone), k.Nodes)
	case k.Nodes == NodesSame && a.Zone != "" && b.Zone != "" && a.Zone != b.Zone:
		c.wrong(at, "write nodes: different, or name one zone",
			"client is in zone %s and server in zone %s, and nodes is same", quote(a.Zone), quote(b.Zone))
	case k.Nodes == NodesSame && a.OS != b.OS:
		c.wrong(at, "write nodes: different", "client is a %s pod and server a %s pod, and nodes is same", a.OS, b.OS)
	case k.Nodes == NodesSame:
		for _, label := range slices.Sorted(maps.Keys(a.NodeSelector)) {
			if other, ok := b.NodeSelector[label]; ok && other != a.NodeSelector[label] {
				c.wrong(at, "write nodes: different, or select one node",
					"client and server select nodes with different labels %s, and nodes is same", quote(label))
				return
			}
		}
	}
}

// check checks what a side says. what names it in messages.
func (p *Pod) check(c *Checker, what string, tools Tools) {
	c.texts(p.Texts())
	c.labels("nodeSelector", p.NodeSelector, checkLabelValue)
	c.labels("labels", p.Labels, checkLabelValue)
	c.labels("annotations", p.Annotations, checkAnnotation)
	c.manifest("affinity", p.Affinity)
	c.manifest("tolerations", p.Tolerations)
	c.manifest("resources", p.Resources)
	c.manifest("securityContext", p.SecurityContext)
	if n := len(p.ImagePullSecrets); n > maxPodEntries {
		c.wrong(AtKey("imagePullSecrets"), "at most "+strconv.Itoa(maxPodEntries), "imagePullSecrets has %d entries", n)
	} else {
		for i, name := range p.ImagePullSecrets {
			c.refuse(AtValue("imagePullSecrets", Item(i), "name"), checkDomainName(name))
		}
	}
	c.numbers(PortKey(&p.Port))
	c.programs(p.Tools, tools)
	p.checkSystem(c, what)
	if p.HostNetwork && (p.Interface != "" || c.given("interface")) {
		c.wrong(AtKey("interface"), "leave one of them out", "%s: a pod with hostNetwork has no interfaces of its own",
			what)
	}
	if selected := p.NodeSelector[zoneLabel]; selected != "" && p.Zone != "" && selected != p.Zone {
		c.wrong(AtValue("zone"), "leave zone out, or the label in nodeSelector",
			"zone is %s, and nodeSelector asks for %s %s", quote(p.Zone), zoneLabel, quote(selected))
	}
}

// SelectedSystem is the known operating system for which a nodeSelector asks; empty for none.
func (p *Pod) SelectedSystem() string {
	if selected := p.NodeSelector[osLabel]; slices.Contains(PodSystems(), selected) {
		return selected
	}
	return ""
}

// checkSystem checks the operating system of a pod, which its nodeSelector can say too, and that it has an image.
func (p *Pod) checkSystem(c *Checker, what string) {
	known := c.word(AtValue("os"), "os", p.OS, PodSystems())
	switch selected := p.NodeSelector[osLabel]; {
	case selected == "" || selected == p.OS || !known:
	case c.text == nil || c.given("os"):
		c.wrong(AtValue("os"), "leave os out, or the label in nodeSelector", "os is %s, and nodeSelector asks for %s %s",
			p.OS, osLabel, quote(selected))
	default:
		c.wrong(AtValue("nodeSelector"), Suggest(selected, PodSystems()),
			"nodeSelector asks for %s %s, which no pod is for", osLabel, quote(selected))
	}
	switch {
	case p.Image != "" || p.AgentImage != "" || !c.sound("image", "agentImage"):
	case p.OS == PodWindows:
		c.wrong(AtKey(), "add agentImage: registry.example/nearfar-agent:v1, which `nearfar image` writes",
			"%s is a Windows pod without an image, and the default image is for Linux", what)
	case known:
		c.wrong(AtKey(), "add image: "+DefaultPodImage, "%s has no image", what)
	}
}

// labels checks a mapping of texts whose keys follow the rules of labels and annotations.
func (c *Checker) labels(key string, all map[string]string, check func(string) error) {
	if n := len(all); n > maxPodEntries {
		c.wrong(AtKey(key), "at most "+strconv.Itoa(maxPodEntries), "%s has %d entries", key, n)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.refuse(AtKey(key, name), CheckQualified(name))
		c.refuse(AtValue(key, name), check(all[name]))
		if name == managedBy && key == "labels" || strings.HasPrefix(name, ownPrefix) && key != "nodeSelector" {
			c.wrong(AtKey(key, name), "leave it out", "%s: nearfar sets %s itself", key, quote(name))
		}
	}
}
