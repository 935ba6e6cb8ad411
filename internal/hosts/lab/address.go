package lab

import (
	"errors"
	"net"
	"net/netip"
)

// An ipNode is a namespace with IP addresses: a host, a router, a DLR, or a VTEP in its underlay. It has a device on
// the segment to its left, on the segment to its right, or on both.
type ipNode struct {
	space       int
	left, right string
}

// address gives every segment of the arm its network, and every node its addresses, neighbours and routes. The hosts'
// segments and the segments of each tunnel's underlay are separate domains: no route leads from one to another.
//
// The n-th segment of arm a is 10.a.n.0/24; the node towards the client has .1 and the other .2. If the plan has IPv6,
// the hosts' segments are also fd6e:6561:7266:AANN::/64, with ::1 and ::2. Underlays have only IPv4.
//
// Both ends of the control connection compute the addresses, because the addresses of a long path would not fit into
// one message.
func (p *plan) address() error {
	var hosts, underlay []ipNode
	var domains [][]ipNode
	var openSpace int
	for i := range p.Spaces {
		s := &p.Spaces[i]
		switch {
		case i == 0:
			hosts = append(hosts, ipNode{space: i, right: hostDevice})
		case i == len(p.Spaces)-1:
			hosts = append(hosts, ipNode{space: i, left: hostDevice})
		case s.Tunnel != nil:
			if s.Forward {
				st := ipNode{space: i, left: gatewayBridge, right: bridgeDevice}
				if !s.Opens {
					st.left, st.right = st.right, st.left
				}
				hosts = append(hosts, st)
			}
			if s.Opens {
				underlay = []ipNode{{space: i, right: s.underlayPort()}}
				openSpace = i
				continue
			}
			underlay = append(underlay, ipNode{space: i, left: s.underlayPort()})
			domains = append(domains, underlay)
			underlay = nil
			// The VNI is the tunnel's number in its arm, unique over all arms.
			p.Spaces[openSpace].Tunnel.ID = p.Index*256 + len(domains)
			s.Tunnel.ID = p.Spaces[openSpace].Tunnel.ID
		case s.Forward && underlay != nil:
			underlay = append(underlay, ipNode{space: i, left: leftPort, right: rightPort})
		case s.Forward:
			hosts = append(hosts, ipNode{space: i, left: leftPort, right: rightPort})
		}
	}
	segment := 0
	for i, d := range append([][]ipNode{hosts}, domains...) {
		if segment+len(d) > 255 {
			return errors.New("too many routers in one path")
		}
		p.addressDomain(d, segment, i == 0 && p.IPv6)
		segment += len(d) - 1
	}
	for i := range p.Spaces {
		s := &p.Spaces[i]
		if s.Tunnel == nil {
			continue
		}
		s.Tunnel.Local = s.addressOf(s.underlayPort())
		if s.Opens {
			openSpace = i
			continue
		}
		s.Tunnel.Remote = p.Spaces[openSpace].Tunnel.Local
		p.Spaces[openSpace].Tunnel.Remote = s.Tunnel.Local
	}
	return nil
}

// addressDomain gives the nodes of one domain their addresses; its first segment has the given number.
func (p *plan) addressDomain(nodes []ipNode, first int, ipv6 bool) {
	for k := 0; k+1 < len(nodes); k++ {
		n := first + k
		l, r := nodes[k], nodes[k+1]
		leftMAC, rightMAC := p.mac(byte(n), 1), p.mac(byte(n), 2)
		ls, rs := &p.Spaces[l.space], &p.Spaces[r.space]
		left := address{
			Device: l.right, Prefix: p.segment(n, 1), MAC: leftMAC, Peer: p.segment(n, 2).Addr(), PeerMAC: rightMAC,
		}
		right := address{
			Device: r.left, Prefix: p.segment(n, 2), MAC: rightMAC, Peer: p.segment(n, 1).Addr(), PeerMAC: leftMAC,
		}
		if ipv6 {
			left.Prefix6, left.Peer6 = p.segment6(n, 1), p.segment6(n, 2).Addr()
			right.Prefix6, right.Peer6 = p.segment6(n, 2), p.segment6(n, 1).Addr()
		}
		ls.Addresses = append(ls.Addresses, left)
		rs.Addresses = append(rs.Addresses, right)
	}
	p.routeDomain(nodes, first, p.segment)
	if ipv6 {
		p.routeDomain(nodes, first, p.segment6)
	}
}

// routeDomain gives the nodes of one domain their routes between the networks that segment names.
func (p *plan) routeDomain(nodes []ipNode, first int, segment func(n, hostPart int) netip.Prefix) {
	segments := len(nodes) - 1
	for k, st := range nodes {
		s := &p.Spaces[st.space]
		for n := range segments {
			switch {
			case n < k-1: // beyond the node to the left, which is on segment k-1 with .1
				s.Routes = append(s.Routes, route{To: segment(first+n, 0), Via: segment(first+k-1, 1).Addr()})
			case n > k: // beyond the node to the right, which is on segment k with .2
				s.Routes = append(s.Routes, route{To: segment(first+n, 0), Via: segment(first+k, 2).Addr()})
			}
		}
	}
}

// segment is the IPv4 network of the n-th segment, with the given host part.
func (p *plan) segment(n, hostPart int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(p.Index), byte(n), byte(hostPart)}), 24)
}

// segment6 is the same for IPv6: a subnet of a prefix for local use (RFC 4193) with the global ID "nearf". The RFC
// wants a random ID, for networks that may be joined later. A lab never is, and the same experiment has the same
// addresses everywhere.
func (p *plan) segment6(n, hostPart int) netip.Prefix {
	a := [16]byte{0xfd, 'n', 'e', 'a', 'r', 'f', byte(p.Index), byte(n), 15: byte(hostPart)}
	return netip.PrefixFrom(netip.AddrFrom16(a), 64)
}

// mac is a locally administered hardware address for an end of the n-th segment.
func (p *plan) mac(n, end byte) net.HardwareAddr {
	return net.HardwareAddr{0x02, 'n', 'f', byte(p.Index), n, end}
}

// addressOf is the IPv4 address of a device of the namespace; the zero value if it has none.
func (s *space) addressOf(device string) netip.Addr {
	return s.addressing(device).Prefix.Addr()
}

// address6Of is the IPv6 address of a device of the namespace; the zero value if it has none.
func (s *space) address6Of(device string) netip.Addr {
	return s.addressing(device).Prefix6.Addr()
}

// addressing finds what is configured on a device of the namespace; the zero value if nothing is.
func (s *space) addressing(device string) address {
	for _, a := range s.Addresses {
		if a.Device == device {
			return a
		}
	}
	return address{}
}
