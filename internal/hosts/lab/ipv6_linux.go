package lab

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// addIPv6 gives a device, which is down, an IPv6 address, and keeps it from sending anything by itself:
//   - it sends no router solicitations, because it has no link-local address (see quiet);
//   - it tests no addresses for duplicates (DAD), because of the address's flag;
//   - it reports no multicast groups (MLD), because it joins none: neighbour discovery (NOARP) and multicast are off.
//     It needs neither, because its only neighbour is a permanent entry.
func addIPv6(h *netlink.Handle, l netlink.Link, prefix netip.Prefix) error {
	name := l.Attrs().Name
	if err := h.LinkSetARPOff(l); err != nil {
		return fmt.Errorf("turning neighbour discovery off: %w", err)
	}
	if err := h.LinkSetMulticastOff(l); err != nil {
		return fmt.Errorf("turning multicast off: %w", err)
	}
	if err := sysctl("ipv6/conf/"+name+"/disable_ipv6", "0"); err != nil {
		return err
	}
	return h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(prefix), Flags: unix.IFA_F_NODAD})
}

// hasIPv6 says whether any device of the namespace has an IPv6 address.
func (s *space) hasIPv6() bool {
	return slices.ContainsFunc(s.Addresses, func(a address) bool { return a.Prefix6.IsValid() })
}
