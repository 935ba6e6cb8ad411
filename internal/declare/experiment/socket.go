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

func socketKeys() []string {
	return []string{"wait", "congestion", "nodelay", "dscp", "send_buffer", "receive_buffer"}
}

func waitWords() []string { return []string{WaitBlock, WaitBusyPoll, WaitEpoll, WaitSpin} }

// socket reads how the engine's sockets are used.
func (r *reader) socket(s *Socket, f fields, can capability) {
	if can.takes("wait") && can.tool != "" {
		s.Wait = WaitBlock
	}
	if v, ok := r.optional(f, "wait"); ok {
		word, ok := r.word(v.value, "wait", waitWords())
		switch {
		case !ok:
		case !slices.Contains(can.Waits, word):
			r.wrong(v.value, "it can be "+strings.Join(can.Waits, ", "), "%s cannot wait by %s", can, word)
		default:
			s.Wait = word
		}
	}
	if v, ok := r.optional(f, "congestion"); ok {
		s.Congestion = r.congestion(v)
	}
	if v, ok := r.optional(f, "nodelay"); ok {
		on := r.truth(v.value, "nodelay")
		s.NoDelay = &on
	}
	if v, ok := r.optional(f, "dscp"); ok {
		if n, ok := r.integer(v.value, "dscp", 0, maxDSCP); ok {
			s.DSCP = int(n)
		}
	}
	if v, ok := r.optional(f, "send_buffer"); ok {
		s.SendBuffer = r.size(v.value, "send_buffer", can.sender(), can.Buffers)
	}
	if v, ok := r.optional(f, "receive_buffer"); ok {
		s.ReceiveBuffer = r.size(v.value, "receive_buffer", can.sender(), can.Buffers)
	}
}

// congestion reads the name of a congestion control. Which names exist depends on the hosts' kernels.
func (r *reader) congestion(v field) string {
	name, ok := r.text(v.value, "congestion", "cubic")
	if !ok {
		return ""
	}
	if !isCongestion(name) {
		r.wrong(v.value, "write, for example, cubic, reno or bbr", "%s is no name of a congestion control", quote(name))
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
