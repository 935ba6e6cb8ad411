package lab

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
)

// A plan is an arm's path as namespaces and links with their configuration: everything that building needs.
type plan struct {
	Arm   string `json:"arm"`
	Index int    `json:"index"`
	// MTU is the underlay's, HostMTU the hosts'.
	MTU     int `json:"mtu"`
	HostMTU int `json:"host_mtu"`
	// IPv6 says that hosts and routers have IPv6 addresses as well as IPv4 addresses.
	IPv6 bool `json:"ipv6"`
	// Spaces are in the order of the path, from client to server. The right port of each is joined with the left port
	// of the next.
	Spaces []space `json:"spaces"`
}

// A space is a network namespace: a host, or one or more elements of the path.
type space struct {
	Name string `json:"name"`
	// Elements are the indexes in the path of the elements in this namespace, Kinds their kinds.
	Elements []int    `json:"elements"`
	Kinds    []string `json:"kinds"`
	// Left and Right are the ports towards the client and towards the server; empty at the ends.
	Left  port `json:"left"`
	Right port `json:"right"`
	// Forward switches IP forwarding on.
	Forward bool     `json:"forward"`
	Bridges []bridge `json:"bridges"`
	Tunnel  *tunnel  `json:"tunnel"`
	// Opens says that the tunnel's underlay is to the right.
	Opens bool `json:"opens"`
	// Addresses and Routes follow from the rest (see plan.address), and are not sent to the init.
	Addresses []address  `json:"-"`
	Routes    []route    `json:"-"`
	Firewalls []firewall `json:"firewalls"`
	Wire      *wire      `json:"wire"`
}

// A port is one end of a link.
type port struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"`
	// Tunnelled says that the port leads to a wire with encapsulated packets, Single that it leads to a wire that must
	// see single packets. See segment in build_linux.go.
	Tunnelled bool `json:"tunnelled"`
	Single    bool `json:"single"`
}

// A bridge is a learning layer 2 switch with its ports.
type bridge struct {
	Name  string   `json:"name"`
	MTU   int      `json:"mtu"`
	Ports []string `json:"ports"`
}

// A tunnel is a VXLAN device with one remote end.
type tunnel struct {
	Name   string     `json:"name"`
	ID     int        `json:"id"`
	MTU    int        `json:"mtu"`
	Local  netip.Addr `json:"local"`
	Remote netip.Addr `json:"remote"`
}

// An address is a layer 3 interface on a segment, with its only neighbour there.
type address struct {
	Device  string
	Prefix  netip.Prefix
	MAC     net.HardwareAddr
	Peer    netip.Addr
	PeerMAC net.HardwareAddr
	// Prefix6 and Peer6 are the same for IPv6; the zero values without it.
	Prefix6 netip.Prefix
	Peer6   netip.Addr
}

// A route leads to a segment that is not attached.
type route struct {
	To  netip.Prefix
	Via netip.Addr
}

// A firewall filters the IP packets at a device, in both directions.
type firewall struct {
	Element int    `json:"element"`
	Device  string `json:"device"`
	// Forwarded says that the namespace routes the packets. Otherwise they begin or end there.
	Forwarded bool `json:"forwarded"`
	Rules     int  `json:"rules"`
	// IPv6 says that IPv6 packets pass too.
	IPv6 bool `json:"ipv6"`
}

// A wire delays, limits and loses packets between the two ports of its namespace.
type wire struct {
	Element int           `json:"element"`
	Delay   time.Duration `json:"delay"`
	Rate    float64       `json:"rate"`
	Loss    float64       `json:"loss"`
	// Seed draws which packets are lost.
	Seed uint64 `json:"seed"`
}

// The names of devices, the same in every namespace.
const (
	hostDevice    = "eth0"
	leftPort      = "left"
	rightPort     = "right"
	bridgeDevice  = "br0"
	gatewayBridge = "br1" // of a DLR: the segment on the host's side
	tunnelDevice  = "vxlan0"
)

const (
	// vxlanOverhead is what RFC 7348 adds to a frame over IPv4, as seen by the MTU: outer IPv4 header 20, UDP 8,
	// VXLAN 8, inner Ethernet header 14.
	vxlanOverhead = 50
	// minMTU6 is the smallest MTU of a link that carries IPv6 (RFC 8200, section 5).
	minMTU6     = 1280
	maxArms     = 250
	maxElements = 64
	// slowRate is where a super-packet of 64 KiB takes a millisecond.
	slowRate = 64 << 10 * 8 * 1000 // bit/s
)

// newPlan plans an arm's path. The index, from 1, separates the addresses of arms. ipv6 says that the kernel has IPv6.
// The limits are those of experiment files (experiment.Lab.CheckLimits); an MTU of 0 is the default.
func newPlan(arm string, index int, spec experiment.Lab, ipv6 bool) (*plan, error) {
	if spec.MTU == 0 {
		spec.MTU = experiment.DefaultMTU
	}
	if err := spec.CheckLimits(); err != nil {
		return nil, err
	}
	if index < 1 || index > maxArms {
		return nil, fmt.Errorf("a lab holds at most %d arms", maxArms)
	}
	p := &plan{Arm: arm, Index: index, MTU: spec.MTU, HostMTU: spec.MTU}
	opens, err := pairVTEPs(spec.Path)
	if err != nil {
		return nil, err
	}
	if len(opens) > 0 {
		p.HostMTU -= vxlanOverhead
	}
	p.IPv6 = ipv6 && p.HostMTU >= minMTU6
	if err := p.placeElements(spec.Path, opens); err != nil {
		return nil, err
	}
	p.link()
	if err := p.address(); err != nil {
		return nil, err
	}
	for i := range p.Spaces {
		s := &p.Spaces[i]
		for j := range s.Firewalls { // no IPv6 packet passes a device without an IPv6 address, as in an underlay
			s.Firewalls[j].IPv6 = s.address6Of(s.Firewalls[j].Device).IsValid()
		}
	}
	return p, nil
}

// pairVTEPs says for each VTEP whether it opens a tunnel or closes one (false).
func pairVTEPs(path []experiment.Element) (map[int]bool, error) {
	opens := map[int]bool{}
	open := false
	for i, e := range path {
		if e.Kind == experiment.VTEP {
			open = !open
			opens[i] = open
		}
	}
	if open {
		return nil, fmt.Errorf("%d VTEPs: they come in pairs, one at each end of a tunnel", len(opens))
	}
	return opens, nil
}

// placeElements gives every element a namespace of its own, except for DLRs, which share their VTEP's, and firewalls,
// which are at a device of another element.
func (p *plan) placeElements(path []experiment.Element, opens map[int]bool) error {
	p.Spaces = append(p.Spaces, space{Name: "client", Right: port{Name: hostDevice}})
	for i := 0; i < len(path); i++ {
		e := path[i]
		s := space{
			Name:     fmt.Sprintf("%d-%s", i, e.Kind),
			Elements: []int{i}, Kinds: []string{e.Kind},
			Left: port{Name: leftPort}, Right: port{Name: rightPort},
		}
		switch e.Kind {
		case experiment.Bridge:
			s.Bridges = []bridge{{Name: bridgeDevice, Ports: []string{leftPort, rightPort}}}
		case experiment.Router:
			s.Forward = true
		case experiment.Wire:
			seed := uint64(p.Index)<<16 + uint64(i)
			s.Wire = &wire{Element: i, Delay: e.Delay, Rate: e.Rate, Loss: e.Loss, Seed: seed}
		case experiment.DLR, experiment.VTEP:
			var err error
			if s, err = tunnelEnd(path, i, opens); err != nil {
				return err
			}
			i = s.Elements[len(s.Elements)-1]
		case experiment.Firewall:
			continue // see placeFirewalls
		default:
			return fmt.Errorf("element %d: unknown kind %q", i, e.Kind)
		}
		p.Spaces = append(p.Spaces, s)
	}
	p.Spaces = append(p.Spaces, space{Name: "server", Left: port{Name: hostDevice}})
	return p.placeFirewalls(path)
}

// tunnelEnd is the namespace of a hypervisor: the VTEP at element i, or the DLR at i with the VTEP behind it, or the
// VTEP at i with the DLR behind it.
func tunnelEnd(path []experiment.Element, i int, opens map[int]bool) (space, error) {
	first, last, dlr := i, i, false
	if path[i].Kind == experiment.DLR {
		if i+1 == len(path) || path[i+1].Kind != experiment.VTEP || !opens[i+1] {
			return space{},
				fmt.Errorf("element %d: a dlr must stand directly beside its vtep, on the host's side of it", i)
		}
		last, dlr = i+1, true
	} else if !opens[i] && i+1 < len(path) && path[i+1].Kind == experiment.DLR {
		last, dlr = i+1, true
	}
	s := space{Left: port{Name: leftPort}, Right: port{Name: rightPort}, Tunnel: &tunnel{Name: tunnelDevice}}
	for e := first; e <= last; e++ {
		s.Elements = append(s.Elements, e)
		s.Kinds = append(s.Kinds, path[e].Kind)
	}
	s.Opens = opens[first] || opens[last]
	s.Name = fmt.Sprintf("%d-%s", first, strings.Join(s.Kinds, "-"))
	if dlr {
		s.Forward = true
		s.Bridges = []bridge{
			{Name: bridgeDevice, Ports: []string{tunnelDevice}}, {Name: gatewayBridge, Ports: []string{s.hostPort()}},
		}
	} else {
		s.Bridges = []bridge{{Name: bridgeDevice, Ports: []string{s.hostPort(), tunnelDevice}}}
	}
	return s, nil
}

// hostPort is a hypervisor's port on the host's side.
func (s *space) hostPort() string {
	if s.Opens {
		return leftPort
	}
	return rightPort
}

// underlayPort is a hypervisor's port in the underlay.
func (s *space) underlayPort() string {
	if s.Opens {
		return rightPort
	}
	return leftPort
}

// placeFirewalls puts each firewall at the port of the neighbour that experiment.FirewallAt names.
func (p *plan) placeFirewalls(path []experiment.Element) error {
	for i, e := range path {
		if e.Kind != experiment.Firewall {
			continue
		}
		neighbour, ok := experiment.FirewallAt(path, i)
		if !ok {
			return fmt.Errorf("element %d: a firewall must stand beside a host, a router, a dlr or a VTEP's underlay",
				i)
		}
		s := p.spaceOf(neighbour)
		portName := s.Right.Name
		if neighbour > i {
			portName = s.Left.Name
		}
		device, forwards, ok := s.stackBehind(portName)
		if !ok {
			return fmt.Errorf("element %d: no IP packet passes %s of %s", i, portName, s.Name)
		}
		s.Firewalls = append(s.Firewalls, firewall{Element: i, Device: device, Forwarded: forwards, Rules: e.Rules})
		s.Elements = append(s.Elements, i)
		s.Kinds = append(s.Kinds, experiment.Firewall)
	}
	return nil
}

// spaceOf finds the namespace of an element that is no firewall: the client's for -1, the server's for one beyond the
// end.
func (p *plan) spaceOf(element int) *space {
	if element < 0 {
		return &p.Spaces[0]
	}
	for i := range p.Spaces {
		if slices.Contains(p.Spaces[i].Elements, element) {
			return &p.Spaces[i]
		}
	}
	return &p.Spaces[len(p.Spaces)-1]
}

// stackBehind says whether packets that cross the port pass an IP stack of the namespace, on which device, and whether
// that stack forwards them.
func (s *space) stackBehind(portName string) (device string, forwards, ok bool) {
	switch {
	case portName == hostDevice:
		return hostDevice, false, true
	case s.Tunnel != nil && portName == s.underlayPort():
		return portName, false, true
	case s.Tunnel != nil && s.Forward:
		return gatewayBridge, true, true
	case s.Tunnel == nil && s.Forward:
		return portName, true, true
	}
	return "", false, false
}

// link gives every device its MTU, and says which ports lead to which kind of wire.
func (p *plan) link() {
	mtu := p.HostMTU
	for i := range p.Spaces {
		s := &p.Spaces[i]
		s.Left.MTU = mtu
		if s.Tunnel != nil {
			// The path enters a tunnel's underlay, or leaves it.
			mtu = p.HostMTU
			if s.Opens {
				mtu = p.MTU
			}
			s.Tunnel.MTU = p.HostMTU
		}
		s.Right.MTU = mtu
		for j := range s.Bridges {
			s.Bridges[j].MTU = min(s.Left.MTU, s.Right.MTU)
		}
		if s.Wire != nil {
			tunnelled := mtu == p.MTU && p.MTU != p.HostMTU
			for _, facing := range []*port{&p.Spaces[i-1].Right, &p.Spaces[i+1].Left} {
				facing.Tunnelled = facing.Tunnelled || tunnelled
				facing.Single = facing.Single || s.Wire.Loss > 0 || s.Wire.Rate > 0 && s.Wire.Rate < slowRate
			}
		}
	}
}

// facts says how the arm was built.
func (p *plan) facts() ArmFacts {
	f := ArmFacts{Arm: p.Arm, UnderlayMTU: p.MTU, HostMTU: p.HostMTU}
	for _, s := range p.Spaces {
		f.Namespaces = append(f.Namespaces, s.Name)
		for _, a := range s.Addresses {
			f.Addresses = append(f.Addresses, fmt.Sprintf("%s %s %s", s.Name, a.Device, a.Prefix))
			if a.Prefix6.IsValid() {
				f.Addresses = append(f.Addresses, fmt.Sprintf("%s %s %s", s.Name, a.Device, a.Prefix6))
			}
		}
	}
	client, server := &p.Spaces[0], &p.Spaces[len(p.Spaces)-1]
	f.Client, f.Server = client.addressOf(hostDevice).String(), server.addressOf(hostDevice).String()
	if p.IPv6 {
		f.Client6, f.Server6 = client.address6Of(hostDevice).String(), server.address6Of(hostDevice).String()
	}
	return f
}
