package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Limits of arms with pods.
const (
	minReady = 5 * time.Second
	maxReady = time.Hour
	// maxPodEntries is how many labels, annotations, node labels or secrets a pod has at most.
	maxPodEntries = 64
	// maxAnnotation is the greatest length of an annotation's value in bytes.
	maxAnnotation = 16 << 10
	// maxManifest is the greatest length in bytes of a part that is passed on to Kubernetes, as JSON.
	maxManifest = 16 << 10
	maxContext  = 1024 // bytes
	maxImage    = 512  // bytes
)

// kubernetesKeys are the keys of an arm's kubernetes.
func kubernetesKeys() []string {
	return []string{"context", "namespace", "client", "server", "nodes", "through", "service", "networkPolicy", "ready"}
}

// serviceKeys are the keys of the Service.
func serviceKeys() []string { return []string{"annotations", "loadBalancerClass"} }

// podKeys are the keys of one side. They are spelled as in manifests of Kubernetes.
func podKeys() []string {
	return []string{
		"node", "nodeSelector", "zone", "affinity", "tolerations", "hostNetwork", "image", "agentImage",
		"imagePullSecrets", "resources", "annotations", "labels", "runtimeClassName", "priorityClassName", "schedulerName",
		"securityContext", "os", "interface", "port", "tools",
	}
}

func nodesWords() []string { return []string{NodesDifferent, NodesSame, NodesDifferentZones} }

func throughWords() []string {
	return []string{ThroughPod, ThroughClusterIP, ThroughNodePort, ThroughHeadless, ThroughLoadBalancer}
}

func policyWords() []string { return []string{PolicyOpen, PolicyLeave} }

func podSystems() []string { return []string{PodLinux, PodWindows} }

// kubernetes reads how an arm makes its pods. Sides that the arm names as hosts get none.
func (r *reader) kubernetes(arm fields, v field) *Kubernetes {
	k := &Kubernetes{Through: ThroughPod, Policy: PolicyOpen, Ready: DefaultPodReady}
	what := "kubernetes of " + arm.what
	f, ok := r.fields(v.value, v.key, what, kubernetesKeys())
	if !ok {
		return k
	}
	before := r.count()
	k.Context = r.checkedText(f, "context", "my-cluster", checkContext)
	k.Namespace = r.checkedText(f, "namespace", "perf", checkLabelName)
	k.Client = r.podOf(arm, f, "client")
	k.Server = r.podOf(arm, f, "server")
	if k.Client != nil && k.Server != nil {
		k.Nodes = NodesDifferent
	}
	if v, ok := r.optional(f, "nodes"); ok {
		if word, ok := r.word(v.value, "nodes", nodesWords()); ok {
			r.twoPods(k, v, arm)
			k.Nodes = word
		}
	}
	if v, ok := r.optional(f, "through"); ok {
		if word, ok := r.word(v.value, "through", throughWords()); ok {
			k.Through = word
		}
	}
	if v, ok := r.optional(f, "service"); ok {
		k.Service = r.service(v, f.what)
	}
	if v, ok := r.optional(f, "networkPolicy"); ok {
		if word, ok := r.word(v.value, "networkPolicy", policyWords()); ok {
			k.Policy = word
		}
	}
	if v, ok := r.optional(f, "ready"); ok {
		k.Ready = r.ready(v.value)
	}
	if r.count() == before && len(f.suspected) == 0 {
		r.through(k, f, arm)
		r.serviceFits(k, f)
		r.nodesFit(k, f)
		r.secretsExist(k, f)
	}
	return k
}

// service reads what an arm says about its Service.
func (r *reader) service(v field, of string) *ServiceOptions {
	f, ok := r.fields(v.value, v.key, "service of "+of, serviceKeys())
	if !ok {
		return nil
	}
	s := &ServiceOptions{
		Annotations: r.labels(f, "annotations",
			"networking.gke.io/load-balancer-type: Internal", checkAnnotation),
		LoadBalancerClass: r.checkedText(f, "loadBalancerClass", "service.k8s.aws/nlb", checkQualified),
	}
	r.reserved(f)
	if s.Annotations == nil && s.LoadBalancerClass == "" {
		return nil
	}
	return s
}

// serviceFits reports what is said about a Service that the arm does not have, or not of this kind.
func (r *reader) serviceFits(k *Kubernetes, f fields) {
	if k.Service == nil {
		return
	}
	v := f.named["service"]
	switch {
	case k.Through == ThroughPod:
		r.wrong(v.key, "write through: LoadBalancer, or leave service out",
			"service: this arm dials the pod, and has no Service")
	case k.Service.LoadBalancerClass != "" && k.Through != ThroughLoadBalancer:
		r.wrong(v.key, "write through: LoadBalancer, or leave loadBalancerClass out",
			"service: loadBalancerClass is for through: LoadBalancer, and through is %s", k.Through)
	}
}

// podOf reads one side. It gives nil for a side that the arm names as a host.
func (r *reader) podOf(arm, f fields, side string) *Pod {
	v, given := f.named[side]
	if _, named := arm.named[side]; named {
		if given {
			r.wrong(v.key, "keep one of them", "%s names a host as its %s, and kubernetes makes a pod for it", arm.what,
				side)
		}
		return nil
	}
	p := &Pod{OS: PodLinux}
	if v, ok := r.optional(f, side); ok {
		if inner, ok := r.fields(v.value, v.key, side+" of "+f.what, podKeys()); ok {
			r.pod(p, inner)
		}
	}
	if p.Image == "" && p.AgentImage == "" && p.OS == PodLinux {
		p.Image = DefaultPodImage
	}
	return p
}

// pod reads what a side says.
func (r *reader) pod(p *Pod, f fields) {
	p.Node = r.checkedText(f, "node", "node-1", checkDomainName)
	p.Zone = r.checkedText(f, "zone", "eu-west-1a", checkZone)
	p.Image = r.checkedText(f, "image", DefaultPodImage, checkImage)
	p.AgentImage = r.checkedText(f, "agentImage", "registry.example/nearfar-agent:v1", checkImage)
	p.RuntimeClass = r.checkedText(f, "runtimeClassName", "kata", checkDomainName)
	p.PriorityClass = r.checkedText(f, "priorityClassName", "high", checkDomainName)
	p.Scheduler = r.checkedText(f, "schedulerName", "volcano", checkDomainName)
	p.Interface = r.checkedText(f, "interface", "net1", checkInterface)
	p.NodeSelector = r.labels(f, "nodeSelector", "pool: fast", checkLabelValue)
	p.Labels = r.labels(f, "labels", "team: network", checkLabelValue)
	p.Annotations = r.labels(f, "annotations", "sidecar.istio.io/inject: \"false\"", checkAnnotation)
	r.reserved(f)
	p.Affinity = r.manifest(f, "affinity")
	p.Tolerations = r.manifest(f, "tolerations")
	p.Resources = r.manifest(f, "resources")
	p.SecurityContext = r.manifest(f, "securityContext")
	p.ImagePullSecrets = r.pullSecrets(f)
	if v, ok := r.optional(f, "hostNetwork"); ok {
		p.HostNetwork = r.truth(v.value, "hostNetwork")
	}
	if v, ok := r.optional(f, "port"); ok {
		if n, ok := r.integer(v.value, "port", minPort, maxPort); ok {
			p.Port = int(n)
		}
	}
	p.Tools = r.hostTools(f)
	r.podSystem(p, f)
	if v, given := f.named["interface"]; given && p.HostNetwork {
		r.wrong(v.key, "leave one of them out", "%s: a pod with hostNetwork has no interfaces of its own", f.what)
	}
	if selected := p.NodeSelector[zoneLabel]; selected != "" && p.Zone != "" && selected != p.Zone {
		r.wrong(f.named["zone"].value, "leave zone out, or the label in nodeSelector",
			"zone is %s, and nodeSelector asks for %s %s", quote(p.Zone), zoneLabel, quote(selected))
	}
}

// podSystem reads the operating system of a pod, which its nodeSelector can say too.
func (r *reader) podSystem(p *Pod, f fields) {
	selected := p.NodeSelector[osLabel]
	v, ok := r.optional(f, "os")
	switch {
	case slices.Contains(podSystems(), selected):
		p.OS = selected
	case selected != "" && !ok:
		r.wrong(f.named["nodeSelector"].value, Suggest(selected, podSystems()),
			"nodeSelector asks for %s %s, which no pod is for", osLabel, quote(selected))
	}
	if ok {
		word, ok := r.word(v.value, "os", podSystems())
		if ok && selected != "" && selected != word {
			r.wrong(v.value, "leave os out, or the label in nodeSelector", "os is %s, and nodeSelector asks for %s %s",
				word, osLabel, quote(selected))
		}
		if ok {
			p.OS = word
		}
	}
	_, image := f.named["image"]
	_, agentImage := f.named["agentImage"]
	if p.OS == PodWindows && !image && !agentImage && !f.suspected["image"] && !f.suspected["agentImage"] {
		r.wrong(f.at, "add agentImage: registry.example/nearfar-agent:v1, which `nearfar image` writes",
			"%s is a Windows pod without an image, and the default image is for Linux", f.what)
	}
}

// checkedText reads a text and checks it. It gives "" for none.
func (r *reader) checkedText(f fields, key, example string, check func(string) error) string {
	v, ok := r.optional(f, key)
	if !ok {
		return ""
	}
	text, ok := r.text(v.value, key, example)
	if !ok {
		return ""
	}
	r.checked(v.value, key, check(text))
	return text
}

// labels reads a mapping of texts whose keys follow the rules of labels and annotations.
func (r *reader) labels(f fields, key, example string, check func(string) error) map[string]string {
	v, ok := r.optional(f, key)
	if !ok || !r.isMapping(v.value, key) {
		return nil
	}
	if n := len(v.value.Content) / 2; n > maxPodEntries {
		r.wrong(v.key, "at most "+strconv.Itoa(maxPodEntries), "%s has %d entries", key, n)
		return nil
	}
	all, first := map[string]string{}, map[string]int{}
	for name, value := range pairs(v.value) {
		if !r.isKey(name) {
			continue
		}
		if line, twice := first[name.Value]; twice {
			r.wrong(name, "keep one of them", "%s: %s is here twice; the first is in line %d", key, quote(name.Value),
				line)
			continue
		}
		first[name.Value] = name.Line
		r.checked(name, key, checkQualified(name.Value))
		if isNull(value) {
			r.wrong(name, "write, for example, "+example, "%s: %s has no value", key, quote(name.Value))
			continue
		}
		if text, ok := r.text(value, key, example); ok {
			r.checked(value, key, check(text))
			all[name.Value] = text
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Labels that Kubernetes gives to nodes.
const (
	osLabel   = "kubernetes.io/os"
	zoneLabel = "topology.kubernetes.io/zone"
)

// managedBy is a label that nearfar gives to all that it makes. ownPrefix begins its other labels and annotations.
const (
	managedBy = "app.kubernetes.io/managed-by"
	ownPrefix = "nearfar/"
)

// reserved reports labels and annotations that nearfar itself sets.
func (r *reader) reserved(f fields) {
	for _, key := range []string{"labels", "annotations"} {
		v := f.named[key].value
		if v == nil || v.Kind != yaml.MappingNode {
			continue
		}
		for name := range pairs(v) {
			if name.Value == managedBy && key == "labels" || strings.HasPrefix(name.Value, ownPrefix) {
				r.wrong(name, "leave it out", "%s: nearfar sets %s itself", key, quote(name.Value))
			}
		}
	}
}

// pullSecrets reads the names of secrets with which images are pulled.
func (r *reader) pullSecrets(f fields) []string {
	const key, example = "imagePullSecrets", "[registry-login]"
	v, ok := r.optional(f, key)
	if !ok || !r.isSequence(v.value, key, example) {
		return nil
	}
	if n := len(v.value.Content); n > maxPodEntries {
		r.wrong(v.key, "at most "+strconv.Itoa(maxPodEntries), "%s has %d entries", key, n)
		return nil
	}
	var names []string
	for _, n := range v.value.Content {
		// Manifests write a mapping with the key name.
		if n.Kind == yaml.MappingNode {
			inner, ok := r.fields(n, n, key, []string{"name"})
			if !ok {
				continue
			}
			name, ok := r.required(inner, "name", "name: registry-login")
			if !ok {
				continue
			}
			n = name.value
		}
		if name, ok := r.text(n, key, example); ok {
			r.checked(n, key, checkDomainName(name))
			names = append(names, name)
		}
	}
	return names
}

func (r *reader) ready(n *yaml.Node) time.Duration {
	ready, ok := quantity(r, n, "ready", "2m", ParseDuration)
	if ok && (ready < minReady || ready > maxReady) {
		r.wrong(n, "write "+FormatDuration(minReady)+" to "+FormatDuration(maxReady), "ready cannot be %s",
			FormatDuration(ready))
	}
	return ready
}

// twoPods reports nodes in an arm with one pod.
func (r *reader) twoPods(k *Kubernetes, v field, arm fields) {
	if (k.Client == nil) != (k.Server == nil) {
		r.wrong(v.key, "leave nodes out", "nodes is about two pods, and %s has one", arm.what)
	}
}

// through checks that the client can dial the server in the way that the file says.
func (r *reader) through(k *Kubernetes, f fields, arm fields) {
	v, given := f.named["through"]
	if !given {
		return
	}
	switch {
	case k.Server == nil:
		r.wrong(v.key, "leave through out", "through says how the client reaches a server pod, and %s has none",
			arm.what)
		return
	case k.Through == ThroughHeadless && k.Client == nil:
		r.wrong(v.value, "write pod, which is the same address",
			"headless: the name of a Service is known inside the cluster, and the client of %s is no pod", arm.what)
	case k.Through != ThroughPod && k.Server.Interface != "":
		r.wrong(v.value, "leave interface out, or write pod",
			"%s: a Service leads to the pod's own address, and not to its interface %s", k.Through,
			quote(k.Server.Interface))
	case k.Through == ThroughNodePort:
		r.nodePort(k.Server, v, f)
	}
}

// nodePort checks that a server's ports can be those of a NodePort.
func (r *reader) nodePort(server *Pod, v field, f fields) {
	if server.HostNetwork {
		r.wrong(v.value, "leave hostNetwork out, or write pod",
			"NodePort: the pod on the host network would listen at the port that the node forwards")
		return
	}
	if port, given := inSide(f, "server", "port"); given && (server.Port < MinNodePort || server.Port > MaxNodePort-3) {
		hint := fmt.Sprintf("write %d to %d, or leave port out: nearfar then chooses ports", MinNodePort, MaxNodePort-3)
		r.wrong(port.value, hint, "NodePort: port %d is the first of four, and not all of them are ports of nodes",
			server.Port)
	}
}

// inSide finds a key of one side; false if the file does not give it.
func inSide(f fields, side, key string) (field, bool) {
	v := f.named[side].value
	if v == nil || v.Kind != yaml.MappingNode {
		return field{}, false
	}
	for k, value := range pairs(v) {
		if k.Value == key {
			return field{k, value}, true
		}
	}
	return field{}, false
}

// nodesFit reports two pods that cannot run on such nodes as the file asks for.
func (r *reader) nodesFit(k *Kubernetes, f fields) {
	if k.Client == nil || k.Server == nil {
		return
	}
	at := f.at
	if v, given := f.named["nodes"]; given {
		at = v.value
	}
	a, b := k.Client, k.Server
	switch same := a.Node != "" && a.Node == b.Node; {
	case k.Nodes != NodesSame && same:
		r.wrong(at, "write nodes: same, or name two nodes", "client and server are on node %s, and nodes is %s",
			quote(a.Node), k.Nodes)
	case k.Nodes == NodesSame && a.Node != "" && b.Node != "" && !same:
		r.wrong(at, "write nodes: different, or name one node",
			"client is on node %s and server on node %s, and nodes is same", quote(a.Node), quote(b.Node))
	case k.Nodes == NodesDifferentZones && a.Zone != "" && a.Zone == b.Zone:
		r.wrong(at, "write nodes: different, or name two zones", "client and server are in zone %s, and nodes is %s",
			quote(a.Zone), k.Nodes)
	case k.Nodes == NodesSame && a.Zone != "" && b.Zone != "" && a.Zone != b.Zone:
		r.wrong(at, "write nodes: different, or name one zone",
			"client is in zone %s and server in zone %s, and nodes is same", quote(a.Zone), quote(b.Zone))
	case k.Nodes == NodesSame && a.OS != b.OS:
		r.wrong(at, "write nodes: different", "client is a %s pod and server a %s pod, and nodes is same", a.OS, b.OS)
	case k.Nodes == NodesSame:
		for label, value := range a.NodeSelector {
			if other, ok := b.NodeSelector[label]; ok && other != value {
				r.wrong(at, "write nodes: different, or select one node",
					"client and server select nodes with different labels %s, and nodes is same", quote(label))
				return
			}
		}
	}
}

// secretsExist reports secrets for a namespace that nearfar makes, where there are none.
func (r *reader) secretsExist(k *Kubernetes, f fields) {
	if k.Namespace != "" {
		return
	}
	for _, side := range []string{"client", "server"} {
		if v, given := inSide(f, side, "imagePullSecrets"); given && len(v.value.Content) > 0 {
			r.wrong(v.key, "add namespace: NAME, a namespace that has the secrets",
				"imagePullSecrets: the namespace that nearfar makes has no secrets")
		}
	}
}
