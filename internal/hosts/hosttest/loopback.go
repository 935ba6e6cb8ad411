package hosttest

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// Loopback is an endpoint on this machine's loopback addresses with four free ports. No other endpoint of any test has
// them until the test ends.
func Loopback(t *testing.T, name string) host.Endpoint {
	t.Helper()
	a := host.Addresses{V4: netip.AddrFrom4([4]byte{127, 0, 0, 1}), V6: netip.IPv6Loopback()}
	e := host.Endpoint{Name: name, Bind: a, Dial: a}
	for deadline := time.Now().Add(patience); ; {
		e.Port = 20000 + 5*rand.IntN(2000)
		if reserve(t, a.V4, e.Port) {
			return e
		}
		if time.Now().After(deadline) {
			t.Fatal("no five free ports in a row")
		}
	}
}

// reserve says that nobody listens on the four ports from first on, and nobody else has reserved them. A listener on
// the fifth port is the reservation: tests of other packages run at the same time, in processes of their own.
func reserve(t *testing.T, at netip.Addr, first int) bool {
	t.Helper()
	var config net.ListenConfig
	for port := first + 4; port >= first; port-- {
		l, err := config.Listen(t.Context(), "tcp", netip.AddrPortFrom(at, uint16(port)).String())
		if err != nil {
			return false
		}
		if port == first+4 {
			t.Cleanup(func() { _ = l.Close() })
			continue
		}
		_ = l.Close() // it was only tried
	}
	return true
}
