// Package lab makes hosts on this machine from network namespaces, with the kernel's real datapath between them.
//
// All processes of a lab are below one process, the lab's init: process 1 of a new PID namespace, in new network,
// mount, IPC and UTS namespaces (and a user namespace, if the caller is not root). Nothing has a name in the file
// system, and no interface is in the machine's own network namespace. However nearfar ends, the kernel then kills the
// init and all processes of the lab, and frees the namespaces.
//
// A path is planned without I/O (plan.go), and the init makes it (build_linux.go).
package lab

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// The hidden verbs with which this program runs inside a lab.
const (
	// InitVerb is the lab's init, run by RunInit.
	InitVerb = "lab-init"
	// WireVerb is the user-space wire, run by RunWire.
	WireVerb = "lab-wire"
)

// Options says what kind of lab to open.
type Options struct {
	// UserWire makes every wire a user-space wire, even if the kernel has netem.
	UserWire bool
	// RateOnly says that no wire of the lab delays or loses packets. A token bucket then replaces a missing netem.
	RateOnly bool
	// UserNamespace makes the lab in a user namespace, even if the caller's privileges suffice without.
	UserNamespace bool
	// Answer bounds how long the lab may take to answer, on top of the time that a request itself takes; 0 is
	// DefaultAnswer. A lab that takes longer is lost.
	Answer time.Duration
	// Program is the nearfar program that the lab runs, as its first process and as host.Self on its hosts; empty for
	// the calling program.
	Program string
}

// DefaultAnswer is far more than the milliseconds that an answer takes, so that a run survives on an overloaded
// machine.
const DefaultAnswer = 20 * time.Second

func (o Options) answer() time.Duration {
	return cmp.Or(o.Answer, DefaultAnswer)
}

// The implementations of wires.
const (
	// WireKernel is netem, with a token bucket if the wire has a rate.
	WireKernel = "netem"
	// WireBucket is a token bucket alone, for wires that only have a rate.
	WireBucket = "token-bucket"
	// WireUser is a process of nearfar that forwards between two packet sockets.
	WireUser = "user-space"
)

// Facts describes a lab.
type Facts struct {
	// UserNamespace says that the lab is in a user namespace, with root mapped to the caller.
	UserNamespace bool `json:"user_namespace"`
	// Kernel is the release of the running kernel.
	Kernel string `json:"kernel"`
	// CPUModel is the CPU's model name, ClockSource the kernel's clock source, Congestion TCP's default congestion
	// control in the lab; empty if the kernel does not say.
	CPUModel    string `json:"cpu_model,omitempty"`
	ClockSource string `json:"clock_source,omitempty"`
	Congestion  string `json:"congestion,omitempty"`
	// Wire is the implementation of all wires of the lab: WireKernel, WireBucket or WireUser.
	Wire string `json:"wire"`
	// CPUs are the CPUs that the lab may use; its init and its wires run on ServiceCPU.
	CPUs       []int `json:"cpus"`
	ServiceCPU int   `json:"service_cpu"`
	// FreshProc says that /proc in the lab shows the lab's own processes.
	FreshProc bool `json:"fresh_proc"`
	// Features says which probed features the kernel has: bridge, vxlan, nftables, netem, tbf, ipv6.
	Features map[string]bool `json:"features"`
	// Arms are the arms that were built, in that order.
	Arms []ArmFacts `json:"arms"`
}

// HasIPv6 says that the lab's hosts have IPv6 addresses, if the MTU allows it.
func (f Facts) HasIPv6() bool { return f.Features[featureIPv6] }

// featureIPv6 is the feature IPv6. If the kernel has nftables, it includes nftables for IPv6.
const featureIPv6 = "ipv6"

// ArmFacts says how an arm was built.
type ArmFacts struct {
	Arm string `json:"arm"`
	// HostsOf is the arm that the hosts were made for, if this arm uses those of another; otherwise empty.
	HostsOf string `json:"hosts_of,omitempty"`
	Client  string `json:"client"`
	Server  string `json:"server"`
	// Client6 and Server6 are the IPv6 addresses; empty if the kernel has no IPv6, or if the MTU is too small for it.
	Client6 string `json:"client6,omitempty"`
	Server6 string `json:"server6,omitempty"`
	// UnderlayMTU is the MTU of links that carry encapsulated packets (of all links without tunnels), HostMTU the MTU
	// of the hosts' interfaces, in bytes.
	UnderlayMTU int `json:"underlay_mtu"`
	HostMTU     int `json:"host_mtu"`
	// Namespaces are the network namespaces from client to server.
	Namespaces []string `json:"namespaces"`
	// Addresses are all addresses in the arm, as "namespace device prefix".
	Addresses []string `json:"addresses"`
}

// ElementFacts are the counters of one element of an arm's path. They prove that traffic crosses it.
type ElementFacts struct {
	// Element is the index in the path, Kind its kind, Namespace the network namespace that holds it.
	Element   int    `json:"element"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	// Counters are packets and bytes, by name: "left.rx_packets", "forwarded", "established", "rules".
	Counters map[string]uint64 `json:"counters"`
	// Wire is how precise a user-space wire has been.
	Wire *WireStats `json:"wire,omitempty"`
}

// WireStats is what a user-space wire did and how late it was.
type WireStats struct {
	// Base is the constant time that a packet spends in any wire, in each direction, in addition to the wire's delay.
	// It covers the time that forwarding takes, so that delays are exact.
	Base time.Duration `json:"base"`
	// Packets were forwarded. Lost packets were dropped on purpose, Dropped ones because a queue was full. The kernel
	// refused to send Rejected ones.
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

// ErrUnsupported is wrapped if no lab can be made on this machine. The message names the setting that forbids it.
var ErrUnsupported = errors.New("no lab can be made here")

// errorf makes an error of the lab itself, which belongs to no host.
func errorf(format string, args ...any) error {
	return fmt.Errorf("lab: "+format, args...)
}
