package host

import (
	"fmt"
	"net/netip"
)

// DefaultPort is the first port for measuring on hosts that set none. It is outside the ranges from which systems take
// the ports of clients.
const DefaultPort = 7777

// Endpoint is a host as its own servers and the other side see it.
type Endpoint struct {
	// Name names the host in messages: "vxlan/server".
	Name string
	// Bind are the addresses that the host's servers bind. Without one for an IP version, they bind all addresses of
	// that version.
	Bind Addresses
	// Dial are the addresses that the other side dials. They differ from Bind behind address translation.
	Dial Addresses
	// System is the host's operating system and architecture; empty if they are not known.
	System System
	// Release says which distribution a Linux host has: lines of os-release(5), as many as are known. They come from
	// the host.
	Release string
	// Port is the first of the ports for measuring (see Ports); 0 for DefaultPort.
	Port int
	// Moves says that the address from which others see the host may change while a trial runs.
	Moves bool
	// Tools are the paths of programs that the host does not have on its PATH under their own names, by these names.
	Tools map[string]string
}

// Addresses are the addresses of a host, at most one for each IP version. The zero value is no address.
type Addresses struct{ V4, V6 netip.Addr }

// Of is the address of an IP version (4 or 6); false if the host has none.
func (a Addresses) Of(version int) (netip.Addr, bool) {
	if version == 6 {
		return a.V6, a.V6.IsValid()
	}
	return a.V4, a.V4.IsValid()
}

// System is an operating system and an architecture, as Go names them (GOOS, GOARCH).
type System struct{ OS, Arch string }

// Ports are the ports for measuring on one host. Each is used over TCP and over UDP.
type Ports struct {
	// Data carries the measured traffic. Control carries the messages between a tool's client and server, if the tool
	// has a separate connection for them.
	Data, Control int
	// BackgroundData and BackgroundControl are the same for the background of a workload.
	BackgroundData, BackgroundControl int
}

// Ports are four consecutive ports from Port.
func (e Endpoint) Ports() Ports {
	first := e.Port
	if first == 0 {
		first = DefaultPort
	}
	return Ports{Data: first, Control: first + 1, BackgroundData: first + 2, BackgroundControl: first + 3}
}

// has says whether the host can use an IP version. A host without any known address may have any.
func (e Endpoint) has(version int) bool {
	_, binds := e.Bind.Of(version)
	_, dialed := e.Dial.Of(version)
	return binds || dialed || e.Bind == Addresses{} && e.Dial == Addresses{}
}

// Pair is the two hosts between which a tool measures.
type Pair struct{ Client, Server Endpoint }

// Addresses says which address the server binds and which one the client dials. version is the IP version: 4, 6, or 0
// for IPv4 if both hosts have it, otherwise IPv6. The error names the host that has no such address.
func (p Pair) Addresses(version int) (bind, dial netip.Addr, err error) {
	if version == 0 {
		version = 4
		if _, ok := p.Server.Dial.Of(6); ok && (!p.Server.Dial.V4.IsValid() || !p.Client.has(4)) {
			version = 6
		}
	}
	dial, ok := p.Server.Dial.Of(version)
	if !ok {
		return bind, dial, fmt.Errorf("%s has no IPv%d address", p.Server.Name, version)
	}
	if !p.Client.has(version) {
		return bind, dial, fmt.Errorf("%s has no IPv%d address", p.Client.Name, version)
	}
	if bind, ok = p.Server.Bind.Of(version); !ok {
		bind = netip.IPv4Unspecified()
		if version == 6 {
			bind = netip.IPv6Unspecified()
		}
	}
	return bind, dial, nil
}
