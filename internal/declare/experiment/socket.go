package experiment

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Limits of socket options.
const (
	maxDSCP = 63 // a DSCP has 6 bits
	// maxCongestion is the kernel's TCP_CA_NAME_MAX less the final zero.
	maxCongestion = 15
)

func waitWords() []string { return []string{WaitBlock, WaitBusyPoll, WaitEpoll, WaitSpin} }

// wait reads how both sides wait for a message.
func (r *reader) wait(n *yaml.Node, can capability) string {
	word, ok := r.word(n, "wait", waitWords())
	if ok && !slices.Contains(can.Waits, word) {
		r.wrong(n, "it can be "+strings.Join(can.Waits, ", "), "%s cannot wait by %s", can, word)
		return ""
	}
	return word
}

// noDelay reads whether the connections have TCP_NODELAY.
func (r *reader) noDelay(n *yaml.Node, _ capability) *bool {
	on := r.truth(n, "nodelay")
	return &on
}

// congestion reads the name of a congestion control. Which names exist depends on the hosts' kernels.
func (r *reader) congestion(n *yaml.Node, _ capability) string {
	name, ok := r.text(n, "congestion", "cubic")
	if ok && !isCongestion(name) {
		r.wrong(n, "write, for example, cubic, reno or bbr", "%s is no name of a congestion control", quote(name))
		return ""
	}
	return name
}

// isCongestion reports whether a text can be the name of a congestion control.
func isCongestion(name string) bool {
	good := name != "" && len(name) <= maxCongestion
	for _, c := range name {
		good = good && ('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	return good
}
