package lab

import (
	"errors"
	"fmt"
	"net/netip"
)

// A station is where a path touches layer 3: a host, a router, a DLR, or a VTEP's end in the underlay. It has a device
// on the segment to its left, on the segment to its right, or on both.
type station struct {
	space       int
	left, right string
}

// address gives every segment of the arm its network, and every station its addresses, its neighbours and its routes.
// The hosts' segments and those of each tunnel's underlay are separate domains: no route leads from one to the other.
//
// The n-th segment of arm a is 10.a.n.0/24; on it the station towards the client has .1 and the other .2. Where the plan has
// IPv6 the hosts' segments are fd6e:6561:7266:AANN::/64 as well, with ::1 and ::2. Underlays are of IPv4 alone.
//
// Both ends of the control connection work the addresses out: of a long path they would not fit into one message.
func (p *plan) address() error {
	var hosts, underlay []station
	var domains [][]station
	var openSpace int
	for i := range p.Spaces {
		s := &p.Spaces[i]
		switch {
		case i == 0:
			hosts = append(hosts, station{space: i, right: hostDevice})
		case i == len(p.Spaces)-1:
			hosts = append(hosts, station{space: i, left: hostDevice})
		case s.Tunnel != nil:
			if s.Forward {
				st := station{space: i, left: gatewayBridge, right: bridgeDevice}
				if !s.Opens {
					st.left, st.right = st.right, st.left
				}
				hosts = append(hosts, st)
			}
			if s.Opens {
				underlay = []station{{space: i, right: s.underlayPort()}}
				openSpace = i
				continue
			}
			underlay = append(underlay, station{space: i, left: s.underlayPort()})
			domains = append(domains, underlay)
			underlay = nil
			// The VNI is the number of the tunnel in its arm, made unique over arms.
			p.Spaces[openSpace].Tunnel.ID = p.Index*256 + len(domains)
			s.Tunnel.ID = p.Spaces[openSpace].Tunnel.ID
		case s.Forward && underlay != nil:
			underlay = append(underlay, station{space: i, left: leftPort, right: rightPort})
		case s.Forward:
			hosts = append(hosts, station{space: i, left: leftPort, right: rightPort})
		}
	}
	segment := 0
	for i, d := range append([][]station{hosts}, domains...) {
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

// addressDomain addresses the stations of one domain; its first segment has the given number.
func (p *plan) addressDomain(stations []station, first int, ipv6 bool) {
	for k := 0; k+1 < len(stations); k++ {
		n := first + k
		l, r := stations[k], stations[k+1]
		leftMAC, rightMAC := p.mac(n, 1), p.mac(n, 2)
		ls, rs := &p.Spaces[l.space], &p.Spaces[r.space]
		left := address{Device: l.right, Prefix: p.segment(n, 1), MAC: leftMAC, Peer: p.segment(n, 2).Addr(), PeerMAC: rightMAC}
		right := address{Device: r.left, Prefix: p.segment(n, 2), MAC: rightMAC, Peer: p.segment(n, 1).Addr(), PeerMAC: leftMAC}
		if ipv6 {
			left.Prefix6, left.Peer6 = p.segment6(n, 1), p.segment6(n, 2).Addr()
			right.Prefix6, right.Peer6 = p.segment6(n, 2), p.segment6(n, 1).Addr()
		}
		ls.Addresses = append(ls.Addresses, left)
		rs.Addresses = append(rs.Addresses, right)
	}
	p.routeDomain(stations, first, p.segment)
	if ipv6 {
		p.routeDomain(stations, first, p.segment6)
	}
}

// routeDomain gives the stations of one domain their routes, between networks that segment names.
func (p *plan) routeDomain(stations []station, first int, segment func(n, hostPart int) netip.Prefix) {
	segments := len(stations) - 1
	for k, st := range stations {
		s := &p.Spaces[st.space]
		for n := range segments {
			switch {
			case n < k-1: // beyond the station to the left, which is on segment k-1 with .1
				s.Routes = append(s.Routes, route{To: segment(first+n, 0), Via: segment(first+k-1, 1).Addr()})
			case n > k: // beyond the station to the right, which is on segment k with .2
				s.Routes = append(s.Routes, route{To: segment(first+n, 0), Via: segment(first+k, 2).Addr()})
			}
		}
	}
}

// segment is the network of the n-th segment with the given host part.
func (p *plan) segment(n, hostPart int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(p.Index), byte(n), byte(hostPart)}), 24)
}

// segment6 is the same over IPv6: a subnet of a prefix for local use (RFC 4193), whose 40 bits of global ID are "nearf". It
// is not drawn at random, as the RFC asks of networks that may be joined some day: a lab never is, and the same experiment
// has the same addresses everywhere.
func (p *plan) segment6(n, hostPart int) netip.Prefix {
	a := [16]byte{0xfd, 'n', 'e', 'a', 'r', 'f', byte(p.Index), byte(n), 15: byte(hostPart)}
	return netip.PrefixFrom(netip.AddrFrom16(a), 64)
}

// mac is a locally administered address for an end of the n-th segment.
func (p *plan) mac(n, end int) string {
	return fmt.Sprintf("02:6e:66:%02x:%02x:%02x", p.Index, n, end)
}

// addressOf finds the address of a device of the namespace.
func (s *space) addressOf(device string) netip.Addr {
	for _, a := range s.Addresses {
		if a.Device == device {
			return a.Prefix.Addr()
		}
	}
	return netip.Addr{}
}

// address6Of finds the IPv6 address of a device of the namespace; the zero value where it has none.
func (s *space) address6Of(device string) netip.Addr {
	for _, a := range s.Addresses {
		if a.Device == device && a.Prefix6.IsValid() {
			return a.Prefix6.Addr()
		}
	}
	return netip.Addr{}
}
