package file

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// kubernetes reads how an arm makes its pods. Sides that the arm names as hosts get none.
func (r *reader) kubernetes(arm fields, v field) *experiment.Kubernetes {
	k := &experiment.Kubernetes{Through: experiment.ThroughPod, Policy: experiment.PolicyOpen,
		Ready: experiment.DefaultPodReady}
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
	f.Truth("watchKernel", &k.WatchKernel)
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
	const internal = "networking.gke.io/load-balancer-type: Internal"
	s := &experiment.ServiceOptions{Annotations: r.labels(f, "annotations", internal)}
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
	for _, arm := range pairs(f.named["arms"].value) {
		for key := range pairs(arm) {
			if key.Value == "kubernetes" {
				return true
			}
		}
	}
	return false
}

// manifest reads a part of a manifest, as JSON with sorted keys. It checks the keys at the top, and quantities; the
// rest is the API server's to check.
func (r *reader) manifest(f fields, part string) json.RawMessage {
	v, ok := r.optional(f, part)
	if !ok {
		return nil
	}
	before := r.count()
	switch part {
	case "affinity":
		r.affinity(v)
	case "tolerations":
		if r.isSequence(v.value, part, "[{key: dedicated, operator: Exists}]") {
			for _, n := range v.value.Content {
				r.fields(n, n, "a toleration", experiment.KeysOf(part))
			}
		}
	case "resources":
		r.resources(v)
	case "securityContext":
		r.securityContext(v)
	}
	if r.count() > before {
		return nil
	}
	value, ok := r.plain(v.value)
	if !ok || len(v.value.Content) == 0 && part != "resources" {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) > experiment.MaxManifest {
		r.wrong(v.key, "at most "+experiment.FormatSize(experiment.MaxManifest), "%s has %d bytes as JSON", part, len(text))
		return nil
	}
	return text
}

func (r *reader) affinity(v field) {
	f, ok := r.fields(v.value, v.key, "affinity", experiment.KeysOf("affinity"))
	if !ok {
		return
	}
	for _, kind := range experiment.KeysOf("affinity") {
		if inner, ok := r.optional(f, kind); ok {
			r.fields(inner.value, inner.key, kind, experiment.KeysOf(kind))
		}
	}
}

// resources checks the quantities of requests and limits.
func (r *reader) resources(v field) {
	f, ok := r.fields(v.value, v.key, "resources", experiment.KeysOf("resources"))
	if !ok {
		return
	}
	for _, key := range experiment.KeysOf("resources") {
		inner, ok := r.optional(f, key)
		if !ok || !r.isMapping(inner.value, key) {
			continue
		}
		for name, value := range pairs(inner.value) {
			if !r.isKey(name) {
				continue
			}
			r.refuse(name, key, experiment.CheckQualified(name.Value))
			if r.isScalar(value, name.Value, "500m") {
				r.refuse(value, name.Value, experiment.CheckAmount(value.Value))
			}
		}
	}
}

// securityContext checks the keys of a container's securityContext.
func (r *reader) securityContext(v field) {
	if !r.isMapping(v.value, "securityContext") {
		return
	}
	ofPods := []string{"fsGroup", "fsGroupChangePolicy", "supplementalGroups", "supplementalGroupsPolicy", "sysctls"}
	for key := range pairs(v.value) {
		if slices.Contains(ofPods, key.Value) {
			r.wrong(key, "leave it out", "%s is for the securityContext of a pod, and this is the container's",
				key.Value)
			return
		}
	}
	r.fields(v.value, v.key, "securityContext", experiment.KeysOf("securityContext"))
}

// plain gives the value of a node as encoding/json writes it. The second result is false if something in it is wrong;
// this is then reported.
func (r *reader) plain(n *yaml.Node) (any, bool) {
	switch n.Kind {
	case yaml.MappingNode:
		all, good := map[string]any{}, true
		for key, value := range pairs(n) {
			if !r.isKey(key) {
				good = false
				continue
			}
			if _, twice := all[key.Value]; twice {
				r.wrong(key, "keep one of them", "%s is here twice", quote(key.Value))
				good = false
			}
			one, ok := r.plain(value)
			all[key.Value], good = one, good && ok
		}
		return all, good
	case yaml.SequenceNode:
		all, good := []any{}, true
		for _, item := range n.Content {
			one, ok := r.plain(item)
			all, good = append(all, one), good && ok
		}
		return all, good
	case yaml.ScalarNode:
		return r.plainScalar(n)
	}
	return nil, false // an alias, which is already reported
}

func (r *reader) plainScalar(n *yaml.Node) (any, bool) {
	switch n.ShortTag() {
	case "!!null":
		r.wrong(n, "give it a value, or leave the key out", "a value is missing here")
		return nil, false
	case "!!bool":
		if n.Value != "true" && n.Value != "false" {
			r.wrong(n, "write true or false", "%s is no plain truth value", quote(n.Value))
			return nil, false
		}
		return n.Value == "true", true
	case "!!int":
		if value, err := strconv.ParseInt(n.Value, 10, 64); err == nil && strconv.FormatInt(value, 10) == n.Value {
			return value, true
		}
	case "!!float":
		if value, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(value, 0) && !math.IsNaN(value) {
			return value, true
		}
	default: // texts, and dates, which are texts in JSON
		return n.Value, !r.unset[n]
	}
	r.wrong(n, "write a plain number, or put it in quotes", "%s is no number of JSON", quote(n.Value))
	return nil, false
}
