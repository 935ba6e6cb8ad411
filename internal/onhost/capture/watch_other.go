//go:build !linux

package capture

import (
	"fmt"
	"net/netip"
	"runtime"

	"nearfar/internal/declare/check"
)

// Underlay fails on this system.
func Underlay(netip.Addr, bool) (device string, veth bool, err error) {
	return "", false, unsupported()
}

func unsupported() error {
	return fmt.Errorf("devices are watched on Linux alone, not on %s", runtime.GOOS)
}

// A Watch is not possible on this system.
type Watch struct{}

// Begin fails on this system.
func Begin(Options) (*Watch, error) { return nil, unsupported() }

// End is never called.
func (*Watch) End() check.Wire { return check.Wire{} }
