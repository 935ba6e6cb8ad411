package inside

import (
	"encoding/binary"
	"fmt"
)

// The kernel's side keeps what it saw in three arrays: one state, a slot for each trip, and a record for each CPU. The
// programs (packets_linux.go, threads_linux.go) write them by these offsets. All numbers have the byte order of the
// machine.

// The state: which packet is followed.
const (
	statePacket   = 0  // u64: the address of the followed packet's buffer; 0 for none
	stateNext     = 8  // u64: when the next trip may be sampled
	stateSlot     = 16 // u32: the slot of the trip
	statePhase    = 20 // u32: see phaseIdle
	stateClient   = 24 // u32: the client's thread
	stateServer   = 28 // u32: the server's thread
	stateSpace    = 32 // u32: the network namespace where the packet was seen last
	stateSequence = 36 // u32: the packet's sequence number (TCP, ICMP), or the client's port (UDP)
	stateFree     = 40 // u32: the first slot that no trip has used
	stateLost     = 44 // u32: trips that found no slot
	stateArrived  = 48 // u32: 1 + the CPU that received the packet, and no other packet since; 0 for none
	stateReady    = 52 // u32: 1 + the CPU on which the data became ready to read; 0 for none
	stateReader   = 56 // u32: the thread that copied the data
	stateSocket   = 64 // u64: the socket that has the data; 0 for none
	stateRead     = 60 // u32: 1 when the server's program has the request
	stateOrigin   = 72 // u32: the network namespace where the packet was sent
	stateWakes    = 76 // u32: how many threads were woken since the data became ready
	stateSize     = 80
)

// The phases of a trip.
const (
	phaseIdle    = 0
	phaseRequest = 1 // the request is under way, or the server has it
	phaseReply   = 2 // the reply is under way
)

// A slot: what happened in one trip.
const (
	slotCount  = 0 // u32: how many events there were; only the first maxEvents are kept
	slotDone   = 4 // u32: 1 when the trip was seen to its end
	slotEvents = 8
	slotSize   = slotEvents + maxEvents*eventSize

	// maxWakes is how many threads that are woken when data is ready are recorded.
	maxWakes = 8
	// maxEvents is how many events of a trip are kept. The longest path of a lab, which is encapsulated and passes a
	// router and a firewall, has about 90 both ways.
	maxEvents = 128
)

// An event.
const (
	eventTime   = 0  // u64: monotonic clock, in nanoseconds
	eventDevice = 8  // u32: index of the network device; of a thread's event the thread
	eventSpace  = 12 // u32: network namespace of the device; of a thread's event what it says of its kind
	eventNumber = 16 // u32: how many packets the CPU had received, or what the event's kind says
	eventKind   = 20 // u16
	eventCPU    = 22 // u16
	eventStolen = 24 // u32: how long the hypervisor has not run the CPU, in nanoseconds; the lower 32 bits. An
	// evWake says it of the CPU on which the thread ran last. Its eventNumber is that CPU.
	eventSize = 32
)

// The record of a CPU.
const (
	cpuEntered  = 0  // u64: when the thread last entered a system call that sends
	cpuThread   = 8  // u32: that thread
	cpuReceived = 12 // u32: how many packets the CPU has received
	cpuBefore   = 16 // u32: how many it had received when the thread entered the system call
	cpuSize     = 24
)

// A device, by its index and its namespace.
const (
	deviceName     = 0  // 16 bytes
	deviceKind     = 16 // 16 bytes: as rtnetlink names it
	deviceFlags    = 32 // u32: priv_flags
	deviceSize     = 40
	maxDevices     = 256
	learnedTrips   = 16     // in the first trips, the devices are recorded
	flagBridgePort = 1 << 9 // IFF_BRIDGE_PORT of the kernel's netdevice.h
)

// A tunnel, by the device below it, the device's namespace and the direction there.
const (
	tunnelWay     = 8 // u32, behind the device and its namespace: see waySent
	tunnelKeySize = 12
	tunnelNumber  = 0 // u32: what the tunnel's header says of the network
	tunnelNaming  = 4 // u32: how that number is called: see namedVNI
	tunnelSize    = 8
	maxTunnels    = 2 * maxDevices

	waySent     = 0
	wayReceived = 1
	namedVNI    = 1 // VXLAN, GENEVE
	namedKey    = 2 // GRE
)

// eventType says what happened.
type eventType uint16

const (
	evEnter     eventType = iota + 1 // a thread entered the system call that sends; device: the thread
	evRequest                        // the request was given to its first device
	evReply                          // the reply was given to its first device
	evQueue                          // the packet was given to a further device
	evXmit                           // the driver got the packet
	evBacklog                        // the packet was put into a CPU's backlog
	evReceive                        // the stack took the packet
	evFoundB                         // as evBacklog, with another buffer: the packet was made anew
	evFoundR                         // as evReceive, likewise
	evReady                          // the socket has the data
	evWake                           // a thread was made runnable; device: the thread
	evRun                            // a watched thread runs; device: the thread; space: the one before it
	evOff                            // it stops running; device: the thread; space: the next one; number: its state
	evCopy                           // the data was copied to a program; device: the thread
	evReturn                         // the system call that received returned; device: the thread
	evDrop                           // the packet was dropped; number: the kernel's reason
	evResent                         // TCP sent it again
	evThrottled                      // a thread that could run: its control group has no CPU time left; device: it
	evFoundQ                         // as evQueue, with another buffer: a wire outside of the kernel sent the packet on
	evBackB                          // as evFoundB: the reply of another machine
	evBackR                          // as evFoundR, likewise
	evMerge                          // GRO got the packet from the poll of a device that queues it for that
)

// What an event of a thread says besides.
const (
	offState      = 0xffff  // the bits of an evOff's number that are the thread's state; 0: it could still run
	offThrottled  = 1 << 16 // its control group had used up its CPU time
	softirqThread = -1      // an evRun's space: the thread before it was the kernel's for software interrupts
)

// An event is an event of a trip.
type event struct {
	at     uint64
	device uint32
	space  uint32
	number uint32
	kind   eventType
	cpu    uint16
	stolen uint32
}

// A slot is what was recorded of a trip.
type slot struct {
	done   bool
	count  int // of all events
	events []event
}

// readSlot reads a slot of slotSize bytes.
func readSlot(b []byte) slot {
	e := binary.NativeEndian
	s := slot{count: int(e.Uint32(b[slotCount:])), done: e.Uint32(b[slotDone:]) == 1}
	for i := range min(s.count, maxEvents) {
		at := b[slotEvents+i*eventSize:]
		s.events = append(s.events, event{
			at: e.Uint64(at[eventTime:]), device: e.Uint32(at[eventDevice:]), space: e.Uint32(at[eventSpace:]),
			number: e.Uint32(at[eventNumber:]), kind: eventType(e.Uint16(at[eventKind:])), cpu: e.Uint16(at[eventCPU:]),
			stolen: e.Uint32(at[eventStolen:]),
		})
	}
	return s
}

// A deviceKey names a device.
type deviceKey struct{ device, space uint32 }

// A tunnelKey names the packets of a direction on a device.
type tunnelKey struct {
	deviceKey
	way uint32
}

// A tunnel is what the outer header of a packet says of the tunnel.
type tunnel struct{ number, naming uint32 }

// String is the tunnel's number with its name; empty if it has none.
func (t tunnel) String() string {
	switch t.naming {
	case namedVNI:
		return fmt.Sprintf("VNI %d", t.number)
	case namedKey:
		return fmt.Sprintf("key %d", t.number)
	}
	return ""
}

// A device is what the kernel says of a device.
type device struct {
	name, kind string
	bridgePort bool
}
