package lab

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// addIPv6 gives a device, which is down, an IPv6 address, and has it say nothing of its own accord. Of what IPv6 would send
// without being asked, routers' solicitations and the trying out of addresses (DAD) fall away with the address that the
// device would make itself (see quiet), and with the flag of this one. What is left are the reports of the multicast
// groups that an address and a router join (MLD): a device that looks for no neighbours (NOARP) and has no multicast
// joins none. It needs neither, for its one neighbour is entered for good.
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
	for _, a := range s.Addresses {
		if a.Prefix6.IsValid() {
			return true
		}
	}
	return false
}
