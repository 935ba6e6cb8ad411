package file

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

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
