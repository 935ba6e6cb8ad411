//go:build !portable

package session

import (
	"strings"
	"testing"

	"nearfar/internal/onhost/engine/wire"
)

// TestPollingNotes: there is a note if the kernel polls for all sockets or for none.
func TestPollingNotes(t *testing.T) {
	for name, c := range map[string]struct {
		facts map[string]string
		want  []string
	}{
		"polls": {map[string]string{"wait": wire.WaitEpoll, "napi_id": "8193", "epoll_busy_poll": "200"},
			nil},
		"no queue": {map[string]string{"wait": wire.WaitEpoll, "napi_id": "0", "epoll_busy_poll": "200"},
			[]string{"no device queue of the client can be polled"}},
		"old, off": {map[string]string{"server.wait": wire.WaitEpoll, "server.napi_id": "8193",
			"server.epoll_busy_poll": "0"}, []string{"server's kernel has no busy polling for one",
			"net.core.busy_poll is 0"}},
		"old, on": {map[string]string{"wait": wire.WaitEpoll, "napi_id": "8193", "epoll_busy_poll": "50"},
			nil},
		"old, not shown": {map[string]string{"wait": wire.WaitEpoll, "napi_id": "8193", "epoll_busy_poll": "unknown"},
			[]string{"is not known"}},
		"blocks": {map[string]string{"wait": wire.WaitBlock, "napi_id": "0"}, nil},
		"socket, no queue": {map[string]string{"wait": wire.WaitBusyPoll, "napi_id": "0"},
			[]string{"busy-poll: no device queue of the client takes part"}},
	} {
		notes := strings.Join(BusyPollNotes(c.facts), " ")
		if (notes != "") != (len(c.want) > 0) {
			t.Errorf("%s: %q", name, notes)
		}
		for _, want := range c.want {
			if !strings.Contains(notes, want) {
				t.Errorf("%s: %q has no %q", name, notes, want)
			}
		}
	}
}
