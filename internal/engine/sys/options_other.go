//go:build !linux || portable

package sys

import (
	"fmt"
	"net/netip"
	"runtime"
	"syscall"

	"nearfar/internal/engine/wire"
)

// Supported says which of the options cannot be had here. The net package neither sets most of them nor reads any back,
// and what is not read back is not claimed.
func Supported(p wire.Params, _ netip.Addr) (map[string]string, error) {
	switch {
	case p.KernelOptions():
		return nil, fmt.Errorf("socket options (congestion control, nodelay, DSCP, buffer sizes) can be chosen on linux only, not on %s", runtime.GOOS)
	case p.WaitOrDefault() != wire.WaitBlock:
		return nil, fmt.Errorf("wait %s is possible on linux only; on %s the engine waits as the Go runtime does: use %s", p.WaitOrDefault(), runtime.GOOS, wire.WaitBlock)
	case p.ZeroCopy:
		return nil, fmt.Errorf("zero-copy is possible on linux only, not on %s", runtime.GOOS)
	}
	return map[string]string{}, nil
}

// Controlled changes nothing: see supported.
func Controlled(wire.Params) func(network, address string, c syscall.RawConn) error { return nil }

// Prepare has nothing to apply: supported has refused what is not the default.
func (s *Socket) Prepare(wire.Params) error { return nil }
