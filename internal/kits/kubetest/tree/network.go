//go:build linux

package tree

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// bridgeDevice is the bridge in the control plane's namespace to which all nodes are linked.
	bridgeDevice = "nodes"
	// NodeDevice is the interface of a node.
	NodeDevice = "eth0"
	// TunnelDevice is the VXLAN device of a node.
	TunnelDevice = "vxlan0"
	// firstLinkIndex is the first interface number of the bridge's ports, far from those that the kernel gives to the
	// nodes' ends. If both ends of a veth pair have the same number, the kernel takes a second to notice that the link
	// is up.
	firstLinkIndex = 1000
	// vxlanPort is the UDP port of VXLAN, RFC 7348.
	vxlanPort = 4789
	// MTU is the MTU of the links, in bytes.
	MTU = 1500
	// TunnelMTU is the MTU of what VXLAN carries over the links, in bytes.
	TunnelMTU = MTU - 50
)

// sysctl writes a setting of the network namespace.
func sysctl(path, value string) error {
	return os.WriteFile("/proc/sys/net/"+path, []byte(value), 0)
}

// forwarding makes the namespace a router, with the loopback interface up.
func forwarding() error {
	for _, path := range []string{"ipv4/conf/all/rp_filter", "ipv4/conf/default/rp_filter"} {
		if err := sysctl(path, "0"); err != nil {
			return err
		}
	}
	if err := sysctl("ipv4/ip_forward", "1"); err != nil {
		return err
	}
	return up("lo")
}

func up(device string) error {
	l, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	return netlink.LinkSetUp(l)
}

// give gives a device an address and sets it up.
func give(device, address string) error {
	l, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("%s: %w", device, err)
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(l, a); err != nil {
		return fmt.Errorf("%s: address %s: %w", device, address, err)
	}
	return netlink.LinkSetUp(l)
}

// connect makes the bridge of the nodes.
func (p *ControlPlane) connect() error {
	if err := forwarding(); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = bridgeDevice, MTU
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("making a bridge: %w", err)
	}
	return give(bridgeDevice, p.Address)
}

// link links the namespace of a node's first process to the bridge. The control plane's namespace also reaches the pods
// of the node, past VXLAN.
func (n *Node) link(pid int) error {
	bridge, err := netlink.LinkByName(bridgeDevice)
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.Index = n.Name, MTU, firstLinkIndex+n.Number
	attrs.MasterIndex = bridge.Attrs().Index
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU, veth.PeerNamespace = NodeDevice, MTU, netlink.NsPid(pid)
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("linking %s: %w", n.Name, err)
	}
	if err := up(n.Name); err != nil {
		return err
	}
	for _, pods := range []string{n.Routed, n.Tunnelled} {
		if err := route(pods, n.Address, nil, 0); err != nil {
			return err
		}
	}
	return nil
}

// route adds a route to a prefix by way of an address, which may have the length of a prefix.
func route(to, via string, device netlink.Link, flags int) error {
	_, prefix, err := net.ParseCIDR(to)
	if err != nil {
		return err
	}
	r := &netlink.Route{Dst: prefix, Gw: addressOf(via), Flags: flags}
	if device != nil {
		r.LinkIndex = device.Attrs().Index
	}
	if err := netlink.RouteReplace(r); err != nil {
		return fmt.Errorf("route to %s via %s: %w", to, via, err)
	}
	return nil
}

// addressOf is an address without the length of its prefix.
func addressOf(s string) net.IP {
	if ip, _, err := net.ParseCIDR(s); err == nil {
		return ip
	}
	return net.ParseIP(s)
}

// connect configures the node's interface, the VXLAN device, and the routes to the pods of all other nodes: in one
// network over plain routes, in the other through VXLAN.
func (n *Node) connect() error {
	if err := forwarding(); err != nil {
		return err
	}
	if err := give(NodeDevice, n.Address); err != nil {
		return err
	}
	if err := route("0.0.0.0/0", n.Gateway, nil, 0); err != nil {
		return err
	}
	tunnel, err := n.tunnel()
	if err != nil {
		return fmt.Errorf("making the VXLAN device: %w", err)
	}
	for _, p := range n.Peers {
		if err := route(p.Routed, p.Address, nil, 0); err != nil {
			return err
		}
		if err := p.through(tunnel); err != nil {
			return fmt.Errorf("VXLAN to %s: %w", p.Name, err)
		}
	}
	return nil
}

// gatewayOf is the first address of a prefix: the address of a node in the network that goes through VXLAN.
func gatewayOf(prefix string) net.IP { return addressOf(prefix) }

// tunnel makes the VXLAN device. It learns nothing: Peers say where each node is.
func (n *Node) tunnel() (netlink.Link, error) {
	mac, err := net.ParseMAC(n.VTEP)
	if err != nil {
		return nil, err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = TunnelDevice, TunnelMTU, mac
	device := &netlink.Vxlan{
		LinkAttrs: attrs, VxlanId: 1, SrcAddr: addressOf(n.Address), Port: vxlanPort, Learning: false,
	}
	if err := netlink.LinkAdd(device); err != nil {
		return nil, err
	}
	return device, give(TunnelDevice, gatewayOf(n.Tunnelled).String()+"/32")
}

// through sends packets for the pods of a peer through the tunnel.
func (n *Node) through(tunnel netlink.Link) error {
	mac, err := net.ParseMAC(n.VTEP)
	if err != nil {
		return err
	}
	index := tunnel.Attrs().Index
	err = errors.Join(
		netlink.NeighSet(&netlink.Neigh{
			LinkIndex: index, IP: gatewayOf(n.Tunnelled), HardwareAddr: mac, State: netlink.NUD_PERMANENT,
		}),
		netlink.NeighSet(&netlink.Neigh{
			LinkIndex: index, Family: unix.AF_BRIDGE, IP: addressOf(n.Address), HardwareAddr: mac,
			State: netlink.NUD_PERMANENT, Flags: netlink.NTF_SELF,
		}))
	if err != nil {
		return err
	}
	return route(n.Tunnelled, gatewayOf(n.Tunnelled).String(), tunnel, int(netlink.FLAG_ONLINK))
}
