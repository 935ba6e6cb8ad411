package host

import (
	"time"

	"nearfar/internal/experiment"
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
	// CPUs resolves a placement to the CPUs of client and server; nil for any. The numbers of one side are those of its
	// machine.
	CPUs(p experiment.Placement) (client, server []int, err error)
	// Watch begins to observe who uses the CPUs (nil for any) of the two sides during a trial; end ends that and gives
	// the result.
	Watch(client, server []int) (end func() Observation)
	// Lost says what the hosts depend on and has died or hangs, in an error that wraps ErrLost; nil if nothing has.
	Lost() error
}

// Observation is what the machines show of the time of a trial. The zero value says that nothing is known.
type Observation struct {
	Contention Contention
	// Stolen is the steal time of the trial's CPUs, averaged over them, as a share of the elapsed time: the hypervisor
	// did not run them in it. StolenKnown is false if it is not known.
	Stolen      float64
	StolenKnown bool
	// CoreToCoreBefore and CoreToCoreAfter are how long a cache line took from the client's CPU to the server's and
	// back, before and after the trial; 0 if that is not known.
	CoreToCoreBefore, CoreToCoreAfter time.Duration
}
