package agent

import (
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// TestWireRefusals: an agent says why it does not watch. On a host that nothing can log in to, it watches its own
// packets alone.
func TestWireRefusals(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("devices are watched on Linux alone")
	}
	own, others := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.1")
	strict := ServerOptions{Allow: func(*host.Cmd) error { return nil }}
	for _, c := range []struct {
		name    string
		options ServerOptions
		watch   WireWatch
		says    string
	}{
		{"no addresses", ServerOptions{}, WireWatch{}, "no address"},
		{"this machine", ServerOptions{}, WireWatch{Own: []netip.Addr{own}, Peer: []netip.Addr{own}},
			"is this machine"},
		{"of others", strict, WireWatch{Own: []netip.Addr{others}, Peer: []netip.Addr{own}}, "its own packets alone"},
		{"of pods", strict, WireWatch{Own: []netip.Addr{own}, Peer: []netip.Addr{others},
			OuterPeer: []netip.Addr{others}}, "its own packets alone"},
		{"of all", strict, WireWatch{Own: []netip.Addr{own}, Peer: []netip.Addr{netip.IPv4Unspecified()}},
			"one other side alone"},
	} {
		client := newInProcess(t, c.options).connect("host", time.Minute)
		if _, err := client.WatchWire(c.watch); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
