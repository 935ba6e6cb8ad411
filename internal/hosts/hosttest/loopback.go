package hosttest

import (
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// Loopback is an endpoint on this machine's loopback addresses with four ports that are free.
func Loopback(t *testing.T, name string) host.Endpoint {
	t.Helper()
	a := host.Addresses{V4: netip.AddrFrom4([4]byte{127, 0, 0, 1}), V6: netip.IPv6Loopback()}
	e := host.Endpoint{Name: name, Bind: a, Dial: a}
	for deadline := time.Now().Add(patience); ; {
		e.Port = 20000 + 4*rand.IntN(2500)
		if free(t.Context(), a.V4, e.Port) {
			return e
		}
		if time.Now().After(deadline) {
			t.Fatal("no four free ports in a row")
		}
	}
}

// free says that nobody listens on the four ports from first on.
func free(ctx context.Context, at netip.Addr, first int) bool {
	var config net.ListenConfig
	for port := first; port < first+4; port++ {
		l, err := config.Listen(ctx, "tcp", netip.AddrPortFrom(at, uint16(port)).String())
		if err != nil {
			return false
		}
		_ = l.Close() // it was only tried
	}
	return true
}
