// Package inside is the record of what happened inside the path of a watched trial: for a sample of its round trips,
// the time at every element that the kernel let see, in both directions (docs/inside.md).
//
// It is made on the machines that were measured, by internal/onhost/inside, and read by internal/conclude. All that it
// has comes from a host, and is checked by Decode.
package inside

import (
	"fmt"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/beside"
)

// Version is the version of the format. A reader refuses others.
const Version = 1

// Verb is the verb on hosts that watches a trial. It writes Watching to its standard error when it does.
const (
	Verb     = "inside-watch"
	Watching = "watching"
)

// SpaceVerb is the verb on hosts that prints the number of the host's network namespace (Place.Namespace).
const SpaceVerb = "inside-space"

// A Recording is what one machine saw of a trial. A machine can have both sides of the trial: then its trips are whole
// round trips. Else they are what happened on this machine, and all times of a trip are by its one clock.
type Recording struct {
	Version int `json:"version"`
	// Side says of whom the machine is: both, client or server.
	Side string `json:"side"`
	// Problem says why nothing is known: a right that is missing, a kernel that cannot be watched. Empty if the machine
	// was watched.
	Problem string `json:"problem,omitempty"`
	// Sampled is how many round trips were followed, Complete how many of them were seen to their end at all elements.
	// Only these are in Paths.
	Sampled  int `json:"sampled"`
	Complete int `json:"complete"`
	// Lost is how many round trips were not sampled although they were due, because there was no room.
	Lost int `json:"lost"`
	// Events is how many events the kernel recorded.
	Events int `json:"events"`
	// Paths are the ways that round trips took, the most frequent one first. Trips of one path passed the same elements
	// in the same order.
	Paths []Path `json:"paths"`
}

// Unknown is the record of a machine that could not be watched.
func Unknown(side string, why error) *Recording {
	problem := clean.Line(why.Error())
	if len(problem) > maxProblem {
		problem = strings.ToValidUTF8(problem[:maxProblem], "")
	}
	return &Recording{Version: Version, Side: side, Problem: problem, Paths: []Path{}}
}

// The sides of which a machine is.
const (
	Both   = beside.Both
	Client = beside.Client
	Server = beside.Server
)

// A Path is a sequence of steps, and the trips that took it.
type Path struct {
	Steps []Step `json:"steps"`
	Trips []Trip `json:"trips"`
}

// A Step is a part of a round trip: from one event in the kernel to the next one. Steps follow each other without a
// gap.
type Step struct {
	// Way is the direction: request or reply. What the server's program does between them is the server's.
	Way string `json:"way"`
	// Kind says what happens in the step; see Kinds.
	Kind Kind `json:"kind"`
	// Place is the namespace or the machine where the step begins: "client", "router". It can be empty.
	Place string `json:"place,omitempty"`
	// Device is the network device of the step, and DeviceKind its kind as the kernel names it: veth, vxlan, bridge; empty
	// for hardware.
	Device     string `json:"device,omitempty"`
	DeviceKind string `json:"device_kind,omitempty"`
	// Tunnel is the number of the network in a tunnel, with what it is called: "VNI 42", "key 7". It can be empty.
	Tunnel string `json:"tunnel,omitempty"`
}

// Key is a text that is the same for equal paths alone.
func Key(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s %s %q %q %q %q\n", s.Way, s.Kind, s.Place, s.Device, s.DeviceKind, s.Tunnel)
	}
	return b.String()
}

// The directions.
const (
	Request = "request"
	Reply   = "reply"
)

// A Kind says what happens in a step.
type Kind string

// The kinds of steps, in the order in which a packet meets them.
const (
	// Send is from the system call that sends to the queue of the first device: socket, TCP or UDP, IP, routing.
	Send Kind = "send"
	// Queue is the time in the queueing discipline of a device, until the driver gets the packet.
	Queue Kind = "queue"
	// Device is from the driver of a device to the next event: the reception by the other end of a veth pair, for
	// example. On hardware, the packet leaves the machine in it.
	Device Kind = "device"
	// Wire is from the device of one namespace or machine to the reception behind a wire that is no part of the kernel.
	Wire Kind = "wire"
	// Encapsulate is from the driver of a tunnel's device to the queue of the device below it.
	Encapsulate Kind = "encapsulate"
	// Softirq is from the hand-over to a CPU's backlog until the network stack takes the packet from it.
	Softirq Kind = "softirq"
	// Bridge is from the reception by a port of a bridge to the queue of another port.
	Bridge Kind = "bridge"
	// Forward is from the reception to the queue of another device in the same namespace: routing and the firewall.
	Forward Kind = "forward"
	// Decapsulate is from the reception of an encapsulated packet until the one inside is given to GRO, to a CPU's
	// backlog or to the stack.
	Decapsulate Kind = "decapsulate"
	// GRO is from the moment when a device's poll gives the packet to GRO, which merges packets, until the stack takes it.
	GRO Kind = "gro"
	// Deliver is from the last reception to the moment when the socket has the data: IP, the firewall, TCP or UDP.
	Deliver Kind = "deliver"
	// Wake is from there until the waiting thread is made runnable.
	Wake Kind = "wake"
	// RunQueue is how long the thread then waits until a CPU runs it.
	RunQueue Kind = "run-queue"
	// Read is from there, or from the delivery to a program that polls, until the data is copied to the program.
	Read Kind = "read"
	// Return is from the copy to the program's own code.
	Return Kind = "return"
	// Program is from the return of the server's receiving system call to its sending one. A server inside the kernel
	// (ping) has none.
	Program Kind = "program"
	// Answer is from the last reception to the queue of the reply, for a server inside the kernel.
	Answer Kind = "answer"
	// Resend is the time after which the sender sent the packet again (TCP), because it had no answer.
	Resend Kind = "resend"
)

// Kinds lists the kinds of steps.
func Kinds() []Kind {
	return []Kind{
		Send, Queue, Device, Wire, Encapsulate, Softirq, Bridge, Forward, Decapsulate, GRO, Deliver, Wake, RunQueue,
		Read, Return, Program, Answer, Resend,
	}
}

// A Trip is one round trip.
type Trip struct {
	// At is when it began, in nanoseconds after the first one that was sampled.
	At int64 `json:"at"`
	// Spans are the times of the path's steps in nanoseconds. Their sum is the time of the trip.
	Spans []int64 `json:"spans"`
	// Cause says why the trip was slow, if it is one of the slowest; see Causes. Step is the index of the step that was
	// longer than usual, Excess by how many nanoseconds.
	Cause  Cause `json:"cause,omitempty"`
	Step   int   `json:"step,omitempty"`
	Excess int64 `json:"excess,omitempty"`
}

// Took is the time of the trip in nanoseconds.
func (t Trip) Took() int64 {
	var sum int64
	for _, span := range t.Spans {
		sum += span
	}
	return sum
}

// A Cause is a reason for a slow trip.
type Cause string

// The causes.
const (
	// CauseCPU is a thread that could run and waited for a CPU that ran something else.
	CauseCPU Cause = "cpu"
	// CauseThrottled is a thread that could run while its control group had used up its CPU time.
	CauseThrottled Cause = "throttled"
	// CauseSoftirq is a packet that waited while the CPU worked on packets of others.
	CauseSoftirq Cause = "softirq"
	// CauseSteal is a CPU that the hypervisor did not run.
	CauseSteal Cause = "steal"
	// CauseRetransmission is a packet that was sent again.
	CauseRetransmission Cause = "retransmission"
	// CauseQueue is a packet that waited in a queueing discipline or on a wire.
	CauseQueue Cause = "queue"
	// CauseTimer is a program that slept before it answered.
	CauseTimer Cause = "timer"
	// CauseUnknown is none of these.
	CauseUnknown Cause = "unknown"
)

// Causes lists the causes.
func Causes() []Cause {
	return []Cause{
		CauseCPU, CauseThrottled, CauseSoftirq, CauseSteal, CauseRetransmission, CauseQueue, CauseTimer, CauseUnknown,
	}
}
