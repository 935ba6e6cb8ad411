package experiment

import (
	"strconv"
	"strings"
	"unicode"

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

// CheckQualified checks the key of a label or an annotation: a name, which can have a domain and / before it.
func CheckQualified(text string) error {
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

// CheckAmount checks a quantity of Kubernetes.
func CheckAmount(text string) error {
	if !amount.MatchString(text) {
		return refused("write, for example, 2, 500m or 256Mi", "%s is no quantity of Kubernetes", quote(text))
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
