package deploy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// Planned are hosts to plan with, for every arm. They connect to nothing, and nothing can be started on them. Addresses
// that the file does not give have placeholders; see Placeholders.
func Planned(e *experiment.Experiment) map[string]host.Hosts {
	hosts := map[string]host.Hosts{}
	names := placeholderNames(e)
	endpoint := func(name string, pod *experiment.Pod) host.Host {
		spec, _ := e.Host(name)
		at := Endpoint(spec)
		if pod != nil {
			at = podEndpoint(pod)
		}
		at.Name = name
		v4, v6 := placeholders(slices.Index(names, name))
		at.Dial.V4, at.Dial.V6 = cmp.Or(at.Dial.V4, v4), cmp.Or(at.Dial.V6, v6)
		at.Bind.V4, at.Bind.V6 = cmp.Or(at.Bind.V4, at.Dial.V4), cmp.Or(at.Bind.V6, at.Dial.V6)
		return planned{at}
	}
	for _, arm := range e.Arms {
		client, server := e.Sides(arm)
		var pods experiment.Kubernetes
		if arm.Kubernetes != nil {
			pods = *arm.Kubernetes
		}
		on := host.Hosts{
			Client: endpoint(client, pods.Client), Server: endpoint(server, pods.Server), Machines: planned{},
		}
		if pods.Through == experiment.ThroughNodePort && pods.Server.Port == 0 {
			server := on.Server.(planned)
			server.endpoint.Port = experiment.MinNodePort // a run chooses
			on.Server = server
		}
		hosts[arm.Name] = on
	}
	return hosts
}

// podEndpoint is what the file says of how a pod is measured.
func podEndpoint(p *experiment.Pod) host.Endpoint {
	e := host.Endpoint{Port: p.Port, Tools: p.Tools}
	if p.OS == experiment.PodWindows {
		e.System.OS = p.OS
	}
	return e
}

// Placeholders replaces the placeholders of Planned in a command line: "{address of vm-a}".
func Placeholders(e *experiment.Experiment) func(line string) string {
	names := placeholderNames(e)
	return func(line string) string {
		for i, name := range slices.Backward(names) { // the longer addresses first
			v4, v6 := placeholders(i)
			for _, a := range []netip.Addr{v4, v6} {
				line = strings.ReplaceAll(line, a.String(), "{address of "+name+"}")
			}
		}
		return line
	}
}

// Endpoint has the properties that the file gives for the endpoint of a host. All others are not set.
func Endpoint(h experiment.HostSpec) host.Endpoint {
	address := func(text string) netip.Addr {
		a, _ := netip.ParseAddr(text) // the reader has checked it; empty gives no address
		return a
	}
	e := host.Endpoint{Name: h.Name, Port: h.Port, Moves: h.NAT, Tools: h.Tools,
		Dial: host.Addresses{V4: address(h.Address), V6: address(h.Address6)}}
	if bind := address(h.Bind); bind.Is4() {
		e.Bind.V4 = bind
	} else {
		e.Bind.V6 = bind
	}
	return e
}

// placeholderNames are the names of all hosts; the index of a name gives its placeholders.
func placeholderNames(e *experiment.Experiment) []string {
	var names []string
	for _, arm := range e.Arms {
		client, server := e.Sides(arm)
		for _, name := range []string{client, server} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// placeholders are addresses that no host has: IPv4 addresses are from the block that is reserved for future use
// (RFC 1112, section 4), IPv6 addresses from the discard-only block (RFC 6666).
func placeholders(i int) (v4, v6 netip.Addr) {
	hi, lo := byte(i>>8), byte(i)
	return netip.AddrFrom4([4]byte{240, 100, 100 + hi, lo}), netip.AddrFrom16([16]byte{0: 1, 13: 1, 14: hi, 15: lo})
}

// planned is a host that cannot be used, and the machines below it.
type planned struct{ endpoint host.Endpoint }

// errPlanned says that something was started on a planned host. That is a mistake of the caller.
var errPlanned = errors.New("a plan starts nothing")

func (planned) Start(context.Context, host.Cmd) (host.Process, error) { return nil, errPlanned }

func (planned) Put(context.Context, string, fs.FileMode, io.Reader) error { return errPlanned }

func (p planned) Endpoint() host.Endpoint { return p.endpoint }

func (planned) Close() error { return nil }

// CPUs gives those that the file names; others are known only on the machine.
func (planned) CPUs(p experiment.Placement) (client, server []int, err error) {
	return p.Client, p.Server, nil
}

func (planned) Watch(context.Context, []int, []int) (begun func(), end func() host.Observation) {
	return func() {}, func() host.Observation { return host.Observation{} }
}

func (planned) Ahead(host.Machines) bool { return false }

func (planned) Kernels() host.Kernels { return host.Kernels{} }

func (planned) Lost() error { return nil }
