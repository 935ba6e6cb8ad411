package agent

import (
	"net"
	"net/netip"
	"os"
	"os/user"
	"runtime"
	"slices"

	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// Facts are what an agent knows of its machine. A value that the system does not give is empty or 0.
type Facts struct {
	System   host.System `json:"system"`
	Hostname string      `json:"hostname,omitempty"`
	check.Machine
	User   string `json:"user,omitempty"`
	UserID int    `json:"user_id"`
	// Allowed are the numbers of the CPUs that the agent may use.
	Allowed []int `json:"allowed,omitempty"`
	// Free is the free space on the disk of the agent's folder, in bytes.
	Free      int64       `json:"free"`
	Addresses []Interface `json:"addresses,omitempty"`
	// Connection is the environment variable SSH_CONNECTION: the addresses and ports of the client and the server of
	// the SSH session that started the agent.
	Connection string `json:"connection,omitempty"`
}

// Interface is an address of a network interface that is up.
type Interface struct {
	Name   string       `json:"name"`
	Prefix netip.Prefix `json:"prefix"`
	// MTU is the largest packet of the interface, in bytes.
	MTU int `json:"mtu,omitempty"`
}

// readFacts reads the facts. Those that cannot be read are left out.
func readFacts(folder string) Facts {
	f := Facts{
		System:     host.System{OS: runtime.GOOS, Arch: runtime.GOARCH},
		UserID:     os.Getuid(),
		Addresses:  interfaces(),
		Connection: os.Getenv("SSH_CONNECTION"),
	}
	f.Hostname, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		f.User = u.Username
	}
	f.Machine = check.ReadMachine()
	f.Allowed, _ = machine.CPUs()
	f.readSystem(folder)
	return f
}

// interfaces lists the addresses of interfaces that are up, without those that are valid only on one link.
func interfaces() []Interface {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var found []Interface
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addresses {
			p, err := netip.ParsePrefix(a.String())
			if err == nil && !p.Addr().IsLinkLocalUnicast() {
				found = append(found, Interface{Name: i.Name, Prefix: p, MTU: i.MTU})
			}
		}
	}
	return found
}

// addresses are the first addresses of the machine that are valid beyond it, or those of the loopback interface if it
// has no others.
func (f *Facts) addresses() host.Addresses {
	var a host.Addresses
	for _, loopback := range []bool{false, true} {
		for _, i := range f.Addresses {
			at := i.Prefix.Addr()
			switch {
			case at.IsLoopback() != loopback:
			case at.Is4() && !a.V4.IsValid():
				a.V4 = at
			case at.Is6() && !a.V6.IsValid():
				a.V6 = at
			}
		}
		if a.V4.IsValid() || a.V6.IsValid() {
			break
		}
	}
	return a
}

// has says whether an address is one of the machine's own.
func (f *Facts) has(a netip.Addr) bool {
	return slices.ContainsFunc(f.Addresses, func(i Interface) bool { return i.Prefix.Addr() == a })
}
