package experiment

import (
	"slices"
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
	f, ok := r.fields(v.value, v.key, "kubernetes of "+arm.what, kubernetesKeys())
	if !ok {
		return k
	}
	before := r.count()
	r.texts(f, k.texts())
	k.Client = r.podOf(arm, f, "client")
	k.Server = r.podOf(arm, f, "server")
	if k.Client != nil && k.Server != nil {
		k.Nodes = NodesDifferent
	}
	r.words(f, k.words())
	if v, ok := r.optional(f, "service"); ok {
		k.Service = r.service(v, f.what)
	}
	if v, ok := r.optional(f, "ready"); ok {
		k.Ready, _ = quantity(r, v.value, "ready", "2m", ParseDuration)
	}
	r.check(f, func(c *checker) { k.check(c, arm.what, r.tools) })
	if r.count() == before && len(f.suspected) == 0 {
		r.check(f, func(c *checker) { k.checkTogether(c, arm.what) })
	}
	return k
}

// texts are the keys of an arm's kubernetes that have texts.
func (k *Kubernetes) texts() []textKey {
	return []textKey{
		{"context", "my-cluster", &k.Context, checkContext, false},
		{"namespace", "perf", &k.Namespace, checkLabelName, false},
	}
}

// words are the keys of an arm's kubernetes that have words.
func (k *Kubernetes) words() []wordKey {
	return []wordKey{
		{"nodes", &k.Nodes, nodesWords(), false}, // one pod needs none
		{"through", &k.Through, throughWords(), true},
		{"networkPolicy", &k.Policy, policyWords(), true},
	}
}

// service reads what an arm says about its Service.
func (r *reader) service(v field, of string) *ServiceOptions {
	f, ok := r.fields(v.value, v.key, "service of "+of, serviceKeys())
	if !ok {
		return nil
	}
	s := &ServiceOptions{Annotations: r.labels(f, "annotations", "networking.gke.io/load-balancer-type: Internal")}
	r.texts(f, s.texts())
	if s.Annotations == nil && s.LoadBalancerClass == "" {
		return nil
	}
	return s
}

func (s *ServiceOptions) texts() []textKey {
	return []textKey{{"loadBalancerClass", "service.k8s.aws/nlb", &s.LoadBalancerClass, checkQualified, false}}
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
	r.texts(f, p.texts())
	p.NodeSelector = r.labels(f, "nodeSelector", "pool: fast")
	p.Labels = r.labels(f, "labels", "team: network")
	p.Annotations = r.labels(f, "annotations", "sidecar.istio.io/inject: \"false\"")
	p.Affinity = r.manifest(f, "affinity")
	p.Tolerations = r.manifest(f, "tolerations")
	p.Resources = r.manifest(f, "resources")
	p.SecurityContext = r.manifest(f, "securityContext")
	p.ImagePullSecrets = r.pullSecrets(f)
	if v, ok := r.optional(f, "hostNetwork"); ok {
		p.HostNetwork = r.truth(v.value, "hostNetwork")
	}
	r.numbers(f, portKey(&p.Port))
	p.Tools = r.hostTools(f)
	if selected := p.NodeSelector[osLabel]; slices.Contains(podSystems(), selected) {
		p.OS = selected
	}
	if v, ok := r.optional(f, "os"); ok {
		p.OS = r.scalar(v.value, "os", PodLinux)
	}
}

// texts are the keys of a side that have texts.
func (p *Pod) texts() []textKey {
	return []textKey{
		{"node", "node-1", &p.Node, checkDomainName, false},
		{"zone", "eu-west-1a", &p.Zone, checkZone, false},
		{"image", DefaultPodImage, &p.Image, checkImage, false},
		{"agentImage", "registry.example/nearfar-agent:v1", &p.AgentImage, checkImage, false},
		{"runtimeClassName", "kata", &p.RuntimeClass, checkDomainName, false},
		{"priorityClassName", "high", &p.PriorityClass, checkDomainName, false},
		{"schedulerName", "volcano", &p.Scheduler, checkDomainName, false},
		{"interface", "net1", &p.Interface, checkInterface, false},
	}
}

// labels reads a mapping of texts.
func (r *reader) labels(f fields, key, example string) map[string]string {
	v, ok := r.optional(f, key)
	if !ok || !r.isMapping(v.value, key) {
		return nil
	}
	all := map[string]string{}
	for name, value := range r.entries(v.value, key+": ", keepOne) {
		if isNull(value) {
			r.wrong(name, "write, for example, "+example, "%s: %s has no value", key, quote(name.Value))
			continue
		}
		all[name.Value], _ = r.text(value, key, example)
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

// pullSecrets reads the names of secrets with which images are pulled.
func (r *reader) pullSecrets(f fields) []string {
	const key, example = "imagePullSecrets", "[registry-login]"
	v, ok := r.optional(f, key)
	if !ok || !r.isSequence(v.value, key, example) {
		return nil
	}
	var names []string
	for i, n := range v.value.Content {
		names = append(names, "")
		// Manifests write a mapping with the key name.
		if n.Kind == yaml.MappingNode {
			inner, ok := r.fields(n, n, key, []string{"name"})
			if !ok {
				continue
			}
			name, ok := r.required(inner, "name", "name: registry-login")
			if !ok {
				r.faulty[n] = true // it has no name to check
				continue
			}
			n = name.value
		}
		names[i], _ = r.text(n, key, example)
	}
	return names
}
