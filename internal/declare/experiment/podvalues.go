package experiment

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/base/lazyregexp"
)

// Limits of the names of Kubernetes, in bytes (RFC 1123, and the API conventions of Kubernetes).
const (
	maxLabel      = 63
	maxDomainName = 253
	maxInterface  = 15 // IFNAMSIZ of Linux, without the byte 0
)

// Patterns of names in Kubernetes: a label of DNS, the value of a label or the name in its key, and the reference of an
// image by the grammar of the distribution project.
var (
	dnsLabel   = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	labelValue = lazyregexp.New(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	imageName  = lazyregexp.New(`^((\[[0-9a-fA-F:]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]+)?/)?` +
		`[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*` +
		`(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)
	// amount is a quantity of Kubernetes, such as 500m, 1.5, 256Mi or 1e3.
	amount = lazyregexp.New(`^([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][-+]?[0-9]+)?$`)
)

// checkLabelName checks a label of DNS, such as the name of a namespace.
func checkLabelName(text string) error {
	if len(text) > maxLabel || !dnsLabel.MatchString(text) {
		return refused("lower-case letters, digits, and between them -; at most "+strconv.Itoa(maxLabel),
			"%s is no name of Kubernetes", quote(text))
	}
	return nil
}

// checkDomainName checks labels of DNS with dots between them, such as the name of a node.
func checkDomainName(text string) error {
	ok := len(text) <= maxDomainName
	for label := range strings.SplitSeq(text, ".") {
		ok = ok && dnsLabel.MatchString(label)
	}
	if !ok {
		return refused("lower-case letters, digits, and between them - and .; at most "+strconv.Itoa(maxDomainName),
			"%s is no name of Kubernetes", quote(text))
	}
	return nil
}

// checkQualified checks the key of a label or an annotation: a name, which can have a domain and / before it.
func checkQualified(text string) error {
	name, ok := text, true
	if domain, rest, found := strings.Cut(text, "/"); found {
		name, ok = rest, checkDomainName(domain) == nil
	}
	if !ok || len(name) > maxLabel || !labelValue.MatchString(name) {
		return refused("letters, digits, and between them -, _ and .; at most 63, and a domain and / can stand before "+
			"them", "%s is no key of Kubernetes", quote(text))
	}
	return nil
}

// checkLabelValue checks the value of a label, which can be empty.
func checkLabelValue(text string) error {
	if text != "" && (len(text) > maxLabel || !labelValue.MatchString(text)) {
		return refused("letters, digits, and between them -, _ and .; at most "+strconv.Itoa(maxLabel),
			"%s is no value of a label", quote(text))
	}
	return nil
}

func checkZone(text string) error {
	if text == "" {
		return refused("write, for example, eu-west-1a", "%s is no zone", quote(text))
	}
	return checkLabelValue(text)
}

func checkAnnotation(text string) error {
	if len(text) > maxAnnotation {
		return refused("at most "+FormatSize(maxAnnotation), "a value of %d bytes", len(text))
	}
	return nil
}

// checkContext checks the name of a context of a kubeconfig, which can be any text.
func checkContext(text string) error {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	if text == "" || len(text) > maxContext || strings.ContainsFunc(text, unprintable) {
		return refused("write a name that `kubectl config get-contexts` shows", "%s is no name of a context",
			quote(text))
	}
	return nil
}

func checkImage(text string) error {
	if len(text) > maxImage || !imageName.MatchString(text) {
		return refused("write, for example, "+DefaultPodImage, "%s is no reference of an image", quote(text))
	}
	return nil
}

// checkInterface checks the name of a network interface, as Linux does.
func checkInterface(text string) error {
	if text == "" || len(text) > maxInterface || text == "." || text == ".." ||
		strings.ContainsFunc(text, func(c rune) bool { return notInWords(c) || c == '/' || c == ':' }) {
		return refused("write a name such as net1; at most "+strconv.Itoa(maxInterface),
			"%s is no name of an interface", quote(text))
	}
	return nil
}

// manifestKeys are the keys of a part of a manifest that is passed on to Kubernetes (core/v1).
func manifestKeys(part string) []string {
	switch part {
	case "affinity":
		return []string{"nodeAffinity", "podAffinity", "podAntiAffinity"}
	case "nodeAffinity", "podAffinity", "podAntiAffinity":
		return []string{"requiredDuringSchedulingIgnoredDuringExecution",
			"preferredDuringSchedulingIgnoredDuringExecution"}
	case "tolerations":
		return []string{"key", "operator", "value", "effect", "tolerationSeconds"}
	case "resources":
		return []string{"requests", "limits"}
	case "securityContext":
		return []string{
			"allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged", "procMount",
			"readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile",
			"windowsOptions",
		}
	}
	return nil
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
				r.fields(n, n, "a toleration", manifestKeys(part))
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
	text := written(value)
	if len(text) > maxManifest {
		r.wrong(v.key, "at most "+FormatSize(maxManifest), "%s has %d bytes as JSON", part, len(text))
		return nil
	}
	return json.RawMessage(text)
}

func (r *reader) affinity(v field) {
	f, ok := r.fields(v.value, v.key, "affinity", manifestKeys("affinity"))
	if !ok {
		return
	}
	for _, kind := range manifestKeys("affinity") {
		if inner, ok := r.optional(f, kind); ok {
			r.fields(inner.value, inner.key, kind, manifestKeys(kind))
		}
	}
}

// resources checks the quantities of requests and limits.
func (r *reader) resources(v field) {
	f, ok := r.fields(v.value, v.key, "resources", manifestKeys("resources"))
	if !ok {
		return
	}
	for _, key := range manifestKeys("resources") {
		inner, ok := r.optional(f, key)
		if !ok || !r.isMapping(inner.value, key) {
			continue
		}
		for name, value := range pairs(inner.value) {
			if !r.isKey(name) {
				continue
			}
			r.check(f, func(c *checker) { c.refuse(atKey(key, name.Value), checkQualified(name.Value)) })
			if r.isScalar(value, name.Value, "500m") && !amount.MatchString(value.Value) {
				r.wrong(value, "write, for example, 2, 500m or 256Mi", "%s: %s is no quantity of Kubernetes",
					name.Value, quote(value.Value))
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
	r.fields(v.value, v.key, "securityContext", manifestKeys("securityContext"))
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
