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
func (r *reader) wait(n *yaml.Node, _ capability) string { return r.scalar(n, "wait", WaitBlock) }

// checkWait checks that a tool can wait so.
func checkWait(c *checker, can capability, w Workload) {
	if w.Wait == "" && !c.given("wait") || !c.word(value("wait"), "wait", w.Wait, waitWords()) {
		return
	}
	if len(can.Waits) > 0 && !slices.Contains(can.Waits, w.Wait) {
		c.wrong(value("wait"), "it can be "+strings.Join(can.Waits, ", "), "%s cannot wait by %s", can, w.Wait)
	}
}

// noDelay reads whether the connections have TCP_NODELAY.
func (r *reader) noDelay(n *yaml.Node, _ capability) *bool {
	on := r.truth(n, "nodelay")
	return &on
}

// congestion reads the name of a congestion control.
func (r *reader) congestion(n *yaml.Node, _ capability) string {
	name, _ := r.text(n, "congestion", "cubic")
	return name
}

// checkCongestion checks the name of a congestion control. Which names exist depends on the hosts' kernels.
func checkCongestion(c *checker, _ capability, w Workload) {
	if (w.Congestion != "" || c.given("congestion")) && !isCongestion(w.Congestion) {
		c.wrong(value("congestion"), "write, for example, cubic, reno or bbr",
			"%s is no name of a congestion control", quote(w.Congestion))
	}
}

// isCongestion reports whether a text can be the name of a congestion control.
func isCongestion(name string) bool {
	good := name != "" && len(name) <= maxCongestion
	for _, c := range name {
		good = good && ('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	return good
}
