package lab

import (
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
)

// A builtArm is an arm whose namespaces and links exist in the kernel.
type builtArm struct {
	plan       *plan
	namespaces []*namespace // as plan.Spaces
	wires      *wireProcess // nil where the arm has no user-space wire
	watching   *watching    // nil while the underlay devices are not watched
}

// firstLinkIndex is the first interface number of the left ends of links, far from the numbers that the kernel gives to
// the right ends. If both ends of a veth pair have the same number, each in its namespace, the kernel takes a second to
// notice that the link is up, because events of such devices are not urgent to it.
const firstLinkIndex = 1000

// vxlanPort is the UDP port of VXLAN, RFC 7348.
const vxlanPort = 4789

// buildArm makes, joins and configures the namespaces of a plan. It returns the arm with an error too, so that it can
// be freed.
func buildArm(p *plan, wireKind string) (*builtArm, error) {
	a := &builtArm{plan: p}
	for _, s := range p.Spaces {
		ns, err := newNamespace(s.Name)
		if err != nil {
			return a, err
		}
		a.namespaces = append(a.namespaces, ns)
	}
	for i := range len(p.Spaces) - 1 {
		if err := a.join(i); err != nil {
			return a, err
		}
	}
	for i := range p.Spaces {
		s := &p.Spaces[i]
		err := a.namespaces[i].do(func(h *netlink.Handle) error { return s.configure(h, wireKind) })
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// join makes the link between the i-th namespace and the next.
func (a *builtArm) join(i int) error {
	left, right := a.plan.Spaces[i].Right, a.plan.Spaces[i+1].Left
	return a.namespaces[i].do(func(h *netlink.Handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.Index = left.Name, left.MTU, firstLinkIndex+i
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerMTU = right.Name, uint32(right.MTU)
		veth.PeerNamespace = netlink.NsFd(a.namespaces[i+1].file.Fd())
		if err := h.LinkAdd(veth); err != nil {
			return fmt.Errorf("making the link to %s: %w", a.namespaces[i+1].name, err)
		}
		return nil
	})
}

// configure configures the namespace for its elements. It brings the devices up last, so that nothing is sent before
// everything is configured.
func (s *space) configure(h *netlink.Handle, wireKind string) error {
	if s.Forward {
		if err := sysctl("ipv4/ip_forward", "1"); err != nil {
			return err
		}
	}
	if s.Tunnel != nil {
		if err := s.Tunnel.add(h); err != nil {
			return fmt.Errorf("making the VXLAN device: %w", err)
		}
	}
	for _, b := range s.Bridges {
		if err := b.add(h); err != nil {
			return fmt.Errorf("making the bridge %s: %w", b.Name, err)
		}
	}
	for _, a := range s.Addresses {
		if err := a.add(h); err != nil {
			return fmt.Errorf("addressing %s: %w", a.Device, err)
		}
	}
	if s.Forward && s.hasIPv6() {
		// After the addresses, which turn multicast off: a forwarding device with multicast joins the group of all
		// routers.
		if err := sysctl("ipv6/conf/all/forwarding", "1"); err != nil {
			return err
		}
	}
	if s.Wire != nil && wireKind != WireUser {
		if err := s.Wire.addKernel(h, wireKind); err != nil {
			return err
		}
	}
	for _, p := range []port{s.Left, s.Right} {
		if p.Single || p.Tunnelled && wireKind == WireUser {
			if err := p.segment(h); err != nil {
				return err
			}
		}
	}
	for _, fw := range s.Firewalls {
		if err := fw.add(); err != nil {
			return fmt.Errorf("making the firewall: %w", err)
		}
	}
	for _, device := range s.devices() {
		if err := bringUp(h, device); err != nil {
			return err
		}
	}
	for _, a := range s.Addresses {
		if err := a.addNeighbour(h); err != nil {
			return fmt.Errorf("adding the neighbour of %s: %w", a.Device, err)
		}
	}
	for _, r := range s.Routes {
		if err := r.add(h); err != nil {
			return fmt.Errorf("adding the route to %s: %w", r.To, err)
		}
	}
	return nil
}

// devices are the devices of the namespace, ports first.
func (s *space) devices() []string {
	var names []string
	for _, p := range []port{s.Left, s.Right} {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	if s.Tunnel != nil {
		names = append(names, s.Tunnel.Name)
	}
	for _, b := range s.Bridges {
		names = append(names, b.Name)
	}
	return names
}

// add makes a VXLAN device with one fixed remote end. The outer UDP checksum is 0 (RFC 7348).
func (t *tunnel) add(h *netlink.Handle) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = t.Name, t.MTU
	return h.LinkAdd(&netlink.Vxlan{
		LinkAttrs: attrs, VxlanId: t.ID, SrcAddr: ip(t.Local), Group: ip(t.Remote), Port: vxlanPort, Learning: true,
	})
}

// add makes a bridge that sends nothing by itself: no spanning tree, no multicast snooping with its queries.
func (b *bridge) add(h *netlink.Handle) error {
	snooping := false
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = b.Name, b.MTU
	br := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}
	if err := h.LinkAdd(br); err != nil {
		return err
	}
	for _, name := range b.Ports {
		l, err := h.LinkByName(name)
		if err != nil {
			return fmt.Errorf("port %s: %w", name, err)
		}
		if err := h.LinkSetMasterByIndex(l, br.Attrs().Index); err != nil {
			return fmt.Errorf("port %s: %w", name, err)
		}
	}
	return nil
}

func (a *address) add(h *netlink.Handle) error {
	l, err := h.LinkByName(a.Device)
	if err != nil {
		return err
	}
	if err := h.LinkSetHardwareAddr(l, a.MAC); err != nil {
		return err
	}
	if err := h.AddrAdd(l, &netlink.Addr{IPNet: ipNet(a.Prefix)}); err != nil || !a.Prefix6.IsValid() {
		return err
	}
	if err := addIPv6(h, l, a.Prefix6); err != nil {
		return fmt.Errorf("%s: %w", a.Prefix6, err)
	}
	return nil
}

// addNeighbour makes the segment's other end a permanent neighbour, so that no ARP request or neighbour solicitation
// delays a packet.
func (a *address) addNeighbour(h *netlink.Handle) error {
	l, err := h.LinkByName(a.Device)
	if err != nil {
		return err
	}
	for _, peer := range []netip.Addr{a.Peer, a.Peer6} {
		if !peer.IsValid() {
			continue
		}
		err := h.NeighSet(&netlink.Neigh{
			LinkIndex: l.Attrs().Index, State: netlink.NUD_PERMANENT, IP: ip(peer), HardwareAddr: a.PeerMAC,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", peer, err)
		}
	}
	return nil
}

func (r *route) add(h *netlink.Handle) error {
	return h.RouteAdd(&netlink.Route{Dst: ipNet(r.To), Gw: ip(r.Via)})
}

// segment makes the kernel cut super-packets that leave through the port into packets of the MTU. A wire must lose
// single packets and not super-packets of 44. On a slow wire a super-packet would be a burst that no real wire sees.
// And a packet socket cannot describe a super-packet inside a tunnel.
func (p *port) segment(h *netlink.Handle) error {
	l, err := h.LinkByName(p.Name)
	if err != nil {
		return err
	}
	if err := h.LinkSetGSOMaxSegs(l, 1); err != nil {
		return fmt.Errorf("segmenting on %s: %w", p.Name, err)
	}
	return nil
}

// free kills the arm's processes and closes its namespaces. The kernel frees a namespace with its last process.
func (a *builtArm) free() {
	if a.wires != nil {
		a.wires.closing.Store(true)
	}
	for _, ns := range a.namespaces {
		if err := killNamespace(ns); err != nil {
			fmt.Fprintln(os.Stderr, "lab:", err)
		}
	}
	if a.wires != nil {
		a.wires.close()
	}
	a.watching.end()
	for _, ns := range a.namespaces {
		ns.close()
	}
}

func ip(a netip.Addr) net.IP { return a.AsSlice() }

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: ip(p.Addr()), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
