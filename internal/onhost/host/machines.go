package host

import (
	"context"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
)

// Hosts are the two hosts of an arm, and the machine or machines that they are on.
type Hosts struct {
	Client, Server Host
	Machines       Machines
}

// Endpoints are both hosts as a tool plans with them.
func (h Hosts) Endpoints() Pair {
	return Pair{Client: h.Client.Endpoint(), Server: h.Server.Endpoint()}
}

// Machines is asked about the machine or machines below a pair of hosts.
type Machines interface {
	// CPUs resolves a placement to the CPUs of client and server; nil for any. The numbers of a side are CPU numbers of
	// its machine.
	CPUs(p experiment.Placement) (client, server []int, err error)
	// Watch begins to observe which programs use the CPUs (nil for any) of the two sides during a trial. A process that
	// is started on a host after this call starts after that host was observed; begun returns when both were. end ends
	// the observation and gives the result. When ctx ends, nothing is waited for.
	Watch(ctx context.Context, client, server []int) (begun func(), end func() Observation)
	// Ahead says whether a trial on the next machines may begin while the server of one on these ends: its server starts
	// after that one (Cmd.After), and its observation (Watch) begins after the other's end.
	Ahead(next Machines) bool
	// Kernels says which kernels are below the two sides, and where they are watched.
	Kernels() Kernels
	// Lost says which process or machine that the hosts depend on has died or hangs, in an error that wraps ErrLost;
	// nil if none has.
	Lost() error
}

// Kernels are the kernels below a pair of hosts, for watchers of trials. The zero value stands for two, each watched on
// its own host.
type Kernels struct {
	// One says that both sides have the same kernel, as far as is known: one watcher then sees both.
	One bool
	// Places are the network namespaces of that kernel whose names are known.
	Places []inside.Place
	// Client and Server are where the kernel of each side is watched.
	Client, Server Lookout
}

// A Lookout is where the kernel below a host is watched. The zero value stands for the host itself.
type Lookout struct {
	// Host is where the watcher runs; nil for the host itself. Problem says why there is none.
	Host    Host
	Problem string
	// Space is the number of the host's network namespace, if the watcher runs elsewhere.
	Space uint32
	// Node is the name of the machine that the host's packets enter when they leave the host's own network namespace;
	// empty if it has none of its own.
	Node string
}

// Observation has the values that the machines give for the time of a trial. The zero value says that nothing is known.
type Observation struct {
	Contention Contention
	// Stolen is the steal time of the trial's CPUs, averaged over them, as a share of the elapsed time: the hypervisor
	// did not run them in it. StolenKnown is false if it is not known.
	Stolen      float64
	StolenKnown bool
	// CoreToCoreBefore and CoreToCoreAfter are how long a cache line took from the client's CPU to the server's and
	// back, before and after the trial; 0 if that is not known.
	CoreToCoreBefore, CoreToCoreAfter time.Duration
	// Client and Server are the observations of each side.
	Client, Server Seen
	// Facts are further facts of the trial, by name, such as the nodes of pods.
	Facts map[string]string
}

// Seen is the observation of one side of a trial. The zero value says that nothing is known.
type Seen struct {
	// Counters are what the kernel counted between the two ends of the observation (check.Counters.Since).
	Counters *check.Counters
	// Node is the Kubernetes node on which the pod ran.
	Node string
	// Wire is what left the underlay device.
	Wire *check.Wire
}
