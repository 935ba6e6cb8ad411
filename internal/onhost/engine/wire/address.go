package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// IsTimeout says whether the error is about a time limit.
func IsTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// AddrPort gives the address of a TCP or UDP socket. An IPv4 address is unmapped.
func AddrPort(a net.Addr) (netip.AddrPort, error) {
	h, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%v is no IP address", a)
	}
	ap := h.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}
