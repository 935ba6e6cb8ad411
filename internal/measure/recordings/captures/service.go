package captures

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/onhost/capture"
)

// A service is what a client asks a server for: its protocol and port, whatever the client's port. Of ICMP the port
// is 0.
type service struct {
	protocol       int
	client, server netip.Addr
	port           uint16
}

// String writes a service for people.
func (s service) String() string {
	name := map[int]string{
		capture.ProtoTCP: "tcp", capture.ProtoUDP: "udp", capture.ProtoICMP: "icmp", capture.ProtoICMPv6: "icmp",
	}[s.protocol]
	server := s.server.String()
	if s.port != 0 {
		server = netip.AddrPortFrom(s.server, s.port).String()
	}
	return fmt.Sprintf("%s %s to %s", name, s.client, server)
}

// has says whether a packet belongs to the service, and in which direction it goes.
func (s service) has(p packet) (toServer, belongs bool) {
	if p.protocol != s.protocol {
		return false, false
	}
	switch {
	case s.protocol == capture.ProtoICMP || s.protocol == capture.ProtoICMPv6:
		toServer = p.request
		from, to := p.from, p.to
		if !toServer {
			from, to = to, from
		}
		return toServer, from == s.client && to == s.server
	case p.from == s.client && p.to == s.server && p.toPort == s.port:
		return true, true
	}
	return false, p.from == s.server && p.to == s.client && p.fromPort == s.port
}

// traffic is what a survey counts of a service at a point.
type traffic struct {
	toServer, toClient int // packets with contents
	opened             int // connections that the client opened
	labels             map[string]bool
}

// exchanges is how many exchanges there can be at most.
func (t *traffic) exchanges() int {
	if t == nil {
		return 0
	}
	return min(t.toServer, t.toClient)
}

// A survey counts the traffic of all services of a point. What connects two ports is counted as two services, since it
// is not known yet who serves.
type survey map[service]*traffic

func (s survey) add(p packet, label string) {
	if p.protocol == capture.ProtoICMP || p.protocol == capture.ProtoICMPv6 {
		of := service{p.protocol, p.from, p.to, 0}
		if !p.request {
			of.client, of.server = p.to, p.from
		}
		s.count(of, p.request, false, label)
		return
	}
	contents := p.length > 0
	if contents || p.syn {
		s.count(service{p.protocol, p.from, p.to, p.toPort}, true, p.syn, label)
	}
	if contents {
		s.count(service{p.protocol, p.to, p.from, p.fromPort}, false, false, label)
	}
}

func (s survey) count(of service, toServer, opened bool, label string) {
	t := s[of]
	if t == nil {
		if len(s) == maxServices {
			return // the one that is meant has so many packets that it is among the first
		}
		t = &traffic{labels: map[string]bool{}}
		s[of] = t
	}
	switch {
	case opened:
		t.opened++
	case toServer:
		t.toServer++
	default:
		t.toClient++
	}
	if len(t.labels) < maxLabels {
		t.labels[label] = true
	}
}

// choose finds the service with the most exchanges at the point where it has the fewest, of those that match. Between
// the two sides of one connection the server is the side to which connections were opened, or that has the lower port.
func choose(points []survey, only Server) (chosen service, rest []service, err error) {
	type candidate struct {
		service
		least, opened int
	}
	var all []candidate
	for of := range points[0] {
		if only.Address.IsValid() && of.server != only.Address || only.Port != 0 && of.port != only.Port {
			continue
		}
		c := candidate{service: of, least: points[0][of].exchanges()}
		for _, point := range points {
			c.least = min(c.least, point[of].exchanges())
			if t := point[of]; t != nil {
				c.opened += t.opened
			}
		}
		if c.least > 0 {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return service{}, nil, nothingShared(points, only)
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.least, a.least), cmp.Compare(b.opened, a.opened), cmp.Compare(a.port, b.port),
			a.server.Compare(b.server), a.client.Compare(b.client), cmp.Compare(a.protocol, b.protocol))
	})
	chosen = all[0].service
	for _, c := range all[1:] {
		mirrors := func(of service) bool {
			return of.protocol == c.protocol && of.client == c.server && of.server == c.client
		}
		if mirrors(chosen) || slices.ContainsFunc(rest, mirrors) {
			continue // most likely the same packets, seen from the other side
		}
		rest = append(rest, c.service)
	}
	return chosen, rest, nil
}

// nothingShared says what was seen, if no service has exchanges at every point.
func nothingShared(points []survey, only Server) error {
	seen := map[string]bool{}
	for _, point := range points {
		for of, t := range point {
			if t.exchanges() > 0 {
				seen[of.String()] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(seen))
	const most = 8
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	what := "no conversation with requests and replies was seen at every point"
	if only.Address.IsValid() {
		what = "no conversation with the server " + only.String() + " was seen at every point"
	}
	if len(names) == 0 {
		return fmt.Errorf("%s; no point has any", what)
	}
	return fmt.Errorf("%s; at some there are: %s", what, strings.Join(names, ", "))
}

// String writes the address, and the port if it is not any.
func (s Server) String() string {
	if s.Port == 0 {
		return s.Address.String()
	}
	return netip.AddrPortFrom(s.Address, s.Port).String()
}
