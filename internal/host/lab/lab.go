// Package lab makes hosts on this machine from network namespaces, with the kernel's real datapath between them.
//
// Everything that a lab makes lives below one process, the lab's init: process 1 of a PID namespace of its own, in
// network, mount, IPC and UTS namespaces of its own (and a user namespace, where the caller is not root). Nothing has a
// name in the file system, and no interface sits in the machine's own network namespace. When nearfar ends, however it
// ends, the kernel kills the init, with it every process of the lab, and with them the namespaces.
//
// A path is planned purely (plan.go) and then made by the init (build_linux.go).
package lab

import (
	"errors"
	"fmt"
	"time"
)

// The hidden verbs under which this program runs inside a lab.
const (
	// InitVerb is the lab's init, run by RunInit.
	InitVerb = "lab-init"
	// WireVerb is the user-space wire, run by RunWire.
	WireVerb = "lab-wire"
	// WaitPortVerb waits for a server's socket, with WaitPort.
	WaitPortVerb = "wait-port"
)

// Options says what kind of lab to open.
type Options struct {
	// UserWire makes every wire a user-space wire, also where the kernel has what it takes.
	UserWire bool
	// RateOnly says that no wire of the lab delays or loses: a token bucket then suffices where the kernel lacks netem.
	RateOnly bool
	// UserNamespace makes the lab in a user namespace also where the caller has the privileges to do without.
	UserNamespace bool
	// Answer bounds how long the lab may take to answer, beside what it is asked for takes; 0 is DefaultAnswer. A lab that takes
	// longer is lost.
	Answer time.Duration
	// Program is the nearfar program that the lab runs, as its first process and as host.Self on its hosts; empty for
	// the calling program.
	Program string
}

// DefaultAnswer is long beside the milliseconds that an answer takes: on a machine that is far too busy a run shall go on.
const DefaultAnswer = 20 * time.Second

func (o Options) answer() time.Duration {
	if o.Answer > 0 {
		return o.Answer
	}
	return DefaultAnswer
}

// The implementations of a wire.
const (
	// WireKernel is netem, with a token bucket where the wire has a rate.
	WireKernel = "netem"
	// WireBucket is a token bucket alone, for wires that have a rate and nothing else.
	WireBucket = "token-bucket"
	// WireUser is a process of ours that forwards between two packet sockets.
	WireUser = "user-space"
)

// Facts says what a lab is made of.
type Facts struct {
	// UserNamespace says that the lab is in a user namespace, with root mapped to the caller.
	UserNamespace bool `json:"user_namespace"`
	// Kernel is the release of the running kernel.
	Kernel string `json:"kernel"`
	// CPUModel is what the CPU calls itself, ClockSource the kernel's source of time, Congestion TCP's default congestion control in
	// the lab; empty where the kernel does not say.
	CPUModel    string `json:"cpu_model,omitempty"`
	ClockSource string `json:"clock_source,omitempty"`
	Congestion  string `json:"congestion,omitempty"`
	// Wire is the implementation of all wires of the lab: WireKernel, WireBucket or WireUser.
	Wire string `json:"wire"`
	// CPUs are those that the lab may use; ServiceCPU is the one of them that its init and its wires run on.
	CPUs       []int `json:"cpus"`
	ServiceCPU int   `json:"service_cpu"`
	// FreshProc says that /proc in the lab shows the lab's own processes.
	FreshProc bool `json:"fresh_proc"`
	// Features says what of the kernel was probed and is there: bridge, vxlan, nftables, netem, tbf, ipv6.
	Features map[string]bool `json:"features"`
	// Arms are those that were built, in that order.
	Arms []ArmFacts `json:"arms"`
}

// HasIPv6 says that the lab's hosts have IPv6 addresses, where the MTU allows it.
func (f Facts) HasIPv6() bool { return f.Features[featureIPv6] }

// featureIPv6 names the kernel's IPv6 among the features, with nftables for it where there are nftables.
const featureIPv6 = "ipv6"

// ArmFacts says how an arm was built.
type ArmFacts struct {
	Arm string `json:"arm"`
	// HostsOf is the arm that the hosts were made for, where another one uses them too; empty where it is this one.
	HostsOf string `json:"hosts_of,omitempty"`
	Client  string `json:"client"`
	Server  string `json:"server"`
	// Client6 and Server6 are the IPv6 addresses; empty where the kernel has no IPv6, or the MTU is too small for it.
	Client6 string `json:"client6,omitempty"`
	Server6 string `json:"server6,omitempty"`
	// UnderlayMTU is that of the links outside tunnels' inside, HostMTU that of the hosts' interfaces, in bytes.
	UnderlayMTU int `json:"underlay_mtu"`
	HostMTU     int `json:"host_mtu"`
	// Namespaces are the network namespaces from client to server.
	Namespaces []string `json:"namespaces"`
	// Addresses are all addresses in the arm, as "namespace device prefix".
	Addresses []string `json:"addresses"`
}

// Load says how busy a machine is.
type Load struct {
	// Average is the load average over a minute, Running how many threads could run at that moment, this program's among them,
	// CPUs how many CPUs this program may use.
	Average float64 `json:"average"`
	Running int     `json:"running"`
	CPUs    int     `json:"cpus"`
	// Pressure is the share of the last ten seconds in which some process waited for a CPU; 0 where the kernel does not say.
	Pressure float64 `json:"pressure"`
	// Busy is the share of the CPUs' time that was used during a fifth of a second; 0 where nothing pointed to it.
	Busy float64 `json:"busy"`
}

// ElementFacts are the counters of one element of an arm's path: proof that traffic really crosses it.
type ElementFacts struct {
	// Element is the index in the path, Kind its kind, Namespace the network namespace that holds it.
	Element   int    `json:"element"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	// Counters are packets and bytes, by name: "left.rx_packets", "forwarded", "established", "rules".
	Counters map[string]uint64 `json:"counters"`
	// Wire is how precise a user-space wire was, up to now.
	Wire *WireStats `json:"wire,omitempty"`
}

// WireStats is what a user-space wire did and how late it was.
type WireStats struct {
	// Base is the constant time that every packet spends in any wire, in each direction, beside the wire's delay: it
	// covers the time that forwarding itself takes, so that a delay is kept exactly.
	Base time.Duration `json:"base"`
	// Packets were forwarded, Lost were dropped on purpose, Dropped because a queue was full, and Rejected by the
	// kernel as they were sent.
	Packets  uint64 `json:"packets"`
	Lost     uint64 `json:"lost"`
	Dropped  uint64 `json:"dropped"`
	Rejected uint64 `json:"rejected"`
	// Lateness is the actual minus the intended release of a packet.
	LatenessP50 time.Duration `json:"lateness_p50"`
	LatenessP99 time.Duration `json:"lateness_p99"`
	LatenessMax time.Duration `json:"lateness_max"`
}

// ErrClosed says that a lab or one of its hosts was used after it was closed.
var ErrClosed = errors.New("the lab is closed")

// ErrUnsupported is wrapped where no lab can be made on this machine; the message says which setting forbids it.
var ErrUnsupported = errors.New("no lab can be made here")

// errorf wraps a failure of the lab itself, which belongs to no host.
func errorf(format string, args ...any) error {
	return fmt.Errorf("lab: "+format, args...)
}
