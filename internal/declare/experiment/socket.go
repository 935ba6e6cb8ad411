package experiment

import (
	"slices"
	"strings"
)

// Limits of socket options.
const (
	maxDSCP = 63 // a DSCP has 6 bits
	// maxCongestion is the kernel's TCP_CA_NAME_MAX less the final zero.
	maxCongestion = 15
)

func waitWords() []string { return []string{WaitBlock, WaitBusyPoll, WaitEpoll, WaitSpin} }

func readWait(in Values, _ ToolCapability, into *string) bool {
	return in.Word("wait", WaitBlock, into)
}

// checkWait checks that a tool can wait so.
func checkWait(c *Checker, can ToolCapability, w Workload) {
	if w.Wait == "" && !c.given("wait") || !c.word(AtValue("wait"), "wait", w.Wait, waitWords()) {
		return
	}
	if len(can.Waits) > 0 && !slices.Contains(can.Waits, w.Wait) {
		c.wrong(AtValue("wait"), "it can be "+strings.Join(can.Waits, ", "), "%s cannot wait by %s", can, w.Wait)
	}
}

func readNoDelay(in Values, _ ToolCapability, into **bool) bool {
	var on bool
	given := in.Truth("nodelay", &on)
	if given {
		*into = &on
	}
	return given
}

func readCongestion(in Values, _ ToolCapability, into *string) bool {
	return in.Text("congestion", "cubic", into)
}

// checkCongestion checks the name of a congestion control. Which names exist depends on the hosts' kernels.
func checkCongestion(c *Checker, _ ToolCapability, w Workload) {
	if (w.Congestion != "" || c.given("congestion")) && !isCongestion(w.Congestion) {
		c.wrong(AtValue("congestion"), "write, for example, cubic, reno or bbr",
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
