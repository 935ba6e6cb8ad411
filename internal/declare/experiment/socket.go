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

// wait reads how both sides wait for a message.
func (r *reader) wait(w *Workload, f fields, can capability) {
	if len(can.Waits) > 1 && can.tool != "" {
		w.Wait = WaitBlock
	}
	v, ok := r.optional(f, "wait")
	if !ok {
		return
	}
	word, ok := r.word(v.value, "wait", waitWords())
	switch {
	case !ok:
	case !slices.Contains(can.Waits, word):
		r.wrong(v.value, "it can be "+strings.Join(can.Waits, ", "), "%s cannot wait by %s", can, word)
	default:
		w.Wait = word
	}
}

// noDelay reads whether the connections have TCP_NODELAY.
func (r *reader) noDelay(w *Workload, f fields, _ capability) {
	if v, ok := r.optional(f, "nodelay"); ok {
		on := r.truth(v.value, "nodelay")
		w.NoDelay = &on
	}
}

// congestion reads the name of a congestion control. Which names exist depends on the hosts' kernels.
func (r *reader) congestion(w *Workload, f fields, _ capability) {
	v, given := r.optional(f, "congestion")
	if !given {
		return
	}
	name, ok := r.text(v.value, "congestion", "cubic")
	switch {
	case !ok:
	case !isCongestion(name):
		r.wrong(v.value, "write, for example, cubic, reno or bbr", "%s is no name of a congestion control", quote(name))
	default:
		w.Congestion = name
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
