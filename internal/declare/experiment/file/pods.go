package file

import (
	"cmp"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// kubernetes reads how an arm makes its pods. Sides that the arm names as hosts get none.
func (r *reader) kubernetes(arm fields, v field) *experiment.Kubernetes {
	k := &experiment.Kubernetes{Through: experiment.ThroughPod, Policy: experiment.PolicyOpen, Ready: experiment.DefaultPodReady}
	f, ok := r.fields(v.value, v.key, "kubernetes of "+arm.what, experiment.KeysOf("kubernetes"))
	if !ok {
		return k
	}
	before := r.count()
	f.texts(k.Texts())
	k.Client = r.podOf(arm, f, "client")
	k.Server = r.podOf(arm, f, "server")
	if k.Client != nil && k.Server != nil {
		k.Nodes = experiment.NodesDifferent
	}
	for _, w := range k.Words() {
		f.Word(w.Name, w.Known[0], w.Into)
	}
	if v, ok := r.optional(f, "service"); ok {
		k.Service = r.service(v, f.what)
	}
	experiment.Quantity(f, "ready", "2m", experiment.ParseDuration, &k.Ready)
	r.check(f, func(c *experiment.Checker) { k.Check(c, arm.what, r.tools) })
	if r.count() == before && len(f.suspected) == 0 {
		r.check(f, func(c *experiment.Checker) { k.CheckTogether(c, arm.what) })
	}
	return k
}

// service reads what an arm says about its Service.
func (r *reader) service(v field, of string) *experiment.ServiceOptions {
	f, ok := r.fields(v.value, v.key, "service of "+of, experiment.KeysOf("service"))
	if !ok {
		return nil
	}
	s := &experiment.ServiceOptions{Annotations: r.labels(f, "annotations", "networking.gke.io/load-balancer-type: Internal")}
	f.texts(s.Texts())
	if s.Annotations == nil && s.LoadBalancerClass == "" {
		return nil
	}
	return s
}

// podOf reads one side. It gives nil for a side that the arm names as a host.
func (r *reader) podOf(arm, f fields, side string) *experiment.Pod {
	v, given := f.named[side]
	if _, named := arm.named[side]; named {
		if given {
			r.wrong(v.key, "keep one of them", "%s names a host as its %s, and kubernetes makes a pod for it", arm.what,
				side)
		}
		return nil
	}
	p := &experiment.Pod{OS: experiment.PodLinux}
	if v, ok := r.optional(f, side); ok {
		if inner, ok := r.fields(v.value, v.key, side+" of "+f.what, experiment.KeysOf("pod")); ok {
			r.pod(p, inner)
		}
	}
	if p.Image == "" && p.AgentImage == "" && p.OS == experiment.PodLinux {
		p.Image = experiment.DefaultPodImage
	}
	return p
}

// pod reads what a side says.
func (r *reader) pod(p *experiment.Pod, f fields) {
	f.texts(p.Texts())
	p.NodeSelector = r.labels(f, "nodeSelector", "pool: fast")
	p.Labels = r.labels(f, "labels", "team: network")
	p.Annotations = r.labels(f, "annotations", "sidecar.istio.io/inject: \"false\"")
	p.Affinity = r.manifest(f, "affinity")
	p.Tolerations = r.manifest(f, "tolerations")
	p.Resources = r.manifest(f, "resources")
	p.SecurityContext = r.manifest(f, "securityContext")
	p.ImagePullSecrets = r.pullSecrets(f)
	f.Truth("hostNetwork", &p.HostNetwork)
	f.numbers(experiment.PortKey(&p.Port))
	p.Tools = r.hostTools(f)
	p.OS = cmp.Or(p.SelectedSystem(), p.OS)
	f.Word("os", experiment.PodLinux, &p.OS)
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

// podsGiven reports whether an arm of the file makes pods, also with mistakes.
func podsGiven(f fields) bool {
	arms := f.named["arms"].value
	if arms == nil || arms.Kind != yaml.MappingNode {
		return false
	}
	for _, arm := range pairs(arms) {
		if arm.Kind != yaml.MappingNode {
			continue
		}
		for key := range pairs(arm) {
			if key.Value == "kubernetes" {
				return true
			}
		}
	}
	return false
}
