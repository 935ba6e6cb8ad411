//go:build !portable

package sys

import (
	"os"
	"strings"
	"testing"
)

// TestOldKernel: if epoll takes no parameters, the machine's settings for all sockets are read and recorded instead. A
// file that is no epoll instance answers like an old kernel.
func TestOldKernel(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p := &Poller{fd: f.Fd()}
	if err := p.busyPoll(); err != nil {
		t.Fatal(err)
	}
	want := "unknown"
	if b, err := os.ReadFile("/proc/sys/net/core/busy_poll"); err == nil {
		want = strings.TrimSpace(string(b))
	}
	facts := map[string]string{}
	p.facts(facts)
	if facts["epoll_busy_poll_by"] != pollBySysctl || facts["epoll_busy_poll"] != want {
		t.Errorf("facts %v, want %s by %s", facts, want, pollBySysctl)
	}
}
