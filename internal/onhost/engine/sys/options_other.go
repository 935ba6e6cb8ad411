//go:build !linux || portable

package sys

import (
	"fmt"
	"net/netip"
	"runtime"
	"syscall"

	"nearfar/internal/onhost/engine/wire"
)

// Supported refuses options that are not possible here. The net package cannot set most of them, and cannot read any
// of them back.
func Supported(p wire.Params, _ netip.Addr) (map[string]string, error) {
	switch {
	case p.KernelOptions():
		return nil, fmt.Errorf("socket options (congestion control, nodelay, DSCP, buffer sizes) can be chosen on "+
			"linux only, not on %s", runtime.GOOS)
	case p.WaitOrDefault() != wire.WaitBlock:
		return nil, fmt.Errorf("wait %s is possible on linux only; on %s the engine waits as the Go runtime does: "+
			"use %s", p.WaitOrDefault(), runtime.GOOS, wire.WaitBlock)
	case p.ZeroCopy:
		return nil, fmt.Errorf("zero-copy is possible on linux only, not on %s", runtime.GOOS)
	}
	return map[string]string{}, nil
}

// Controlled changes nothing: Supported refuses everything but the defaults.
func Controlled(wire.Params) func(network, address string, c syscall.RawConn) error { return nil }

// Prepare changes nothing: Supported refuses everything but the defaults.
func (s *Socket) Prepare(wire.Params) error { return nil }
