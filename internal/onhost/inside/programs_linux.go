package inside

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
)

// A generator makes the programs for one flow.
type generator struct {
	offsets
	flow
	// state, slots, cpus and devices are the maps that the programs write.
	state, slots, cpus, devices int
}

// A program is what runs at a tracepoint of the kernel.
type program struct {
	tracepoint string
	code       asm.Instructions
}

// programs are all programs, in the order in which a packet meets them.
func (g *generator) programs() []program {
	return []program{
		{"sys_enter", g.entered()},
		{"net_dev_queue", g.queued()},
		{"net_dev_start_xmit", g.passed(evXmit)},
		{"netif_rx", g.arrived(evBacklog, evFoundB)},
		{"netif_receive_skb", g.arrived(evReceive, evFoundR)},
		{"sk_data_ready", g.ready()},
		{"sched_waking", g.waking()},
		{"sched_wakeup", g.woken()},
		{"sched_switch", g.switched()},
		{"sock_recv_length", g.copied()},
		{"sys_exit", g.returned()},
		{"kfree_skb", g.dropped()},
	}
}

// begin makes a program whose R6 is the tracepoint's argument of this number.
func (g *generator) begin(argument int16) *assembler {
	a := &assembler{offsets: g.offsets}
	a.do(
		asm.LoadMem(asm.R6, asm.R1, argument*8, asm.DWord),
		asm.LoadMapValue(asm.R7, g.state, 0),
	)
	return a
}

// duringTrip ends the program if no trip is under way.
func (a *assembler) duringTrip() {
	a.load(asm.R1, statePhase)
	a.do(asm.JEq.Imm(asm.R1, phaseIdle, out))
}

// isFollowed jumps if the packet is the one that is followed.
func (a *assembler) isFollowed(label string) {
	a.do(asm.LoadMem(asm.R1, asm.R7, statePacket, asm.DWord), asm.JEq.Reg(asm.R1, asm.R6, label))
}

// cpu puts the address of this CPU's record into R0.
func (a *assembler) cpu(g *generator) {
	a.do(asm.FnGetSmpProcessorId.Call(), asm.Mov.Reg(asm.R1, asm.R0))
	a.element(g.cpus)
}

// entered remembers when a thread entered a system call that sends.
func (g *generator) entered() asm.Instructions {
	a := &assembler{offsets: g.offsets}
	sends := "sends"
	a.do(asm.LoadMem(asm.R1, asm.R1, 8, asm.DWord))
	for _, number := range []int32{
		unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_WRITE, unix.SYS_WRITEV,
	} {
		a.do(asm.JEq.Imm(asm.R1, number, sends))
	}
	a.do(asm.Ja.Label(out))
	a.mark(sends)
	a.now()
	a.thread()
	a.do(asm.Mov.Reg(asm.R6, asm.R0))
	a.cpu(g)
	a.do(
		asm.StoreMem(asm.R0, cpuThread, asm.R6, asm.Word),
		asm.LoadMem(asm.R1, asm.RFP, onTime, asm.DWord),
		asm.StoreMem(asm.R0, cpuEntered, asm.R1, asm.DWord),
		asm.LoadMem(asm.R1, asm.R0, cpuReceived, asm.Word),
		asm.StoreMem(asm.R0, cpuBefore, asm.R1, asm.Word),
	)
	return a.end()
}

// queued follows packets to a device's queue. The request and the reply of a trip begin here.
func (g *generator) queued() asm.Instructions {
	a := g.begin(0)
	a.now()
	a.isFollowed("follow")
	if g.side == declared.Server {
		a.duringTrip()
	} else {
		a.underWayOrDue()
	}
	a.match(g.flow)
	a.do(asm.JEq.Imm(asm.R8, phaseReply, "reply"))
	if g.side != declared.Server { // a request
		a.again(g, phaseRequest)
		a.inSpace(g)
		a.due()
		a.startTrip(g)
		a.origin()
		a.sender(g, stateClient)
		a.record(g, evRequest, true)
		a.learn(g)
	}
	a.do(asm.Ja.Label(out))
	a.mark("reply")
	if g.side != declared.Client {
		a.again(g, phaseReply)
		a.load(asm.R1, statePhase)
		a.do(asm.JNE.Imm(asm.R1, phaseRequest, out))
		a.namespace(asm.R1)
		a.load(asm.R2, stateSpace)
		a.do(asm.JNE.Reg(asm.R1, asm.R2, out)) // a reply of somebody else
		if g.protocol == protocolTCP || g.protocol == protocolUDP {
			// A program cannot answer what it has not read: TCP sends an earlier reply again.
			a.load(asm.R1, stateRead)
			a.do(asm.JEq.Imm(asm.R1, 0, out))
		}
		a.set(statePhase, phaseReply)
		a.follow()
		a.origin()
		a.sender(g, stateServer)
		a.record(g, evReply, true)
		a.learn(g)
	}
	a.do(asm.Ja.Label(out))
	a.mark("sentOn")
	a.record(g, evFoundQ, true)
	a.learn(g)
	a.do(asm.Ja.Label(out))
	if g.protocol == protocolTCP {
		a.mark("resent")
		a.threadEvent(g, evResent, 0, 0)
	}
	a.mark("follow")
	a.record(g, evQueue, true)
	a.learn(g)
	return a.end()
}

// inSpace ends the program at a packet that is not in the namespace in which trips begin: another lab of the machine can
// have the same addresses and ports.
func (a *assembler) inSpace(g *generator) {
	if g.space != 0 {
		a.namespace(asm.R1)
		a.do(asm.Mov.Imm32(asm.R2, int32(g.space)), asm.JNE.Reg(asm.R1, asm.R2, out))
	}
}

// due ends the program if the next trip may not yet be sampled at the event's time. A trip that is under way is then given
// up.
func (a *assembler) due() {
	due := a.fresh("due")
	a.do(
		asm.LoadMem(asm.R1, asm.RFP, onTime, asm.DWord),
		asm.LoadMem(asm.R2, asm.R7, stateNext, asm.DWord),
		asm.JGE.Reg(asm.R1, asm.R2, due),
	)
	a.set(statePhase, phaseIdle)
	a.clear(statePacket)
	a.do(asm.Ja.Label(out))
	a.mark(due)
}

// underWayOrDue ends the program if there is no trip, and the next one may not yet be sampled.
func (a *assembler) underWayOrDue() {
	underWay := a.fresh("underWay")
	a.load(asm.R1, statePhase)
	a.do(asm.JNE.Imm(asm.R1, phaseIdle, underWay))
	a.due()
	a.mark(underWay)
}

// startTrip takes a free slot for a trip that begins with the packet.
func (a *assembler) startTrip(g *generator) {
	room := a.fresh("room")
	a.do(
		asm.LoadMem(asm.R1, asm.RFP, onTime, asm.DWord),
		asm.LoadImm(asm.R2, g.gap, asm.DWord),
		asm.Add.Reg(asm.R1, asm.R2),
		asm.StoreMem(asm.R7, stateNext, asm.R1, asm.DWord),
	)
	a.load(asm.R1, stateFree)
	a.do(asm.JLT.Imm(asm.R1, int32(g.flow.slots), room))
	a.load(asm.R1, stateLost)
	a.do(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, stateLost, asm.R1, asm.Word))
	a.set(statePhase, phaseIdle)
	a.do(asm.Ja.Label(out))
	a.mark(room)
	a.do(
		asm.StoreMem(asm.R7, stateSlot, asm.R1, asm.Word),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, stateFree, asm.R1, asm.Word),
	)
	a.set(statePhase, phaseRequest)
	a.set(stateReady, 0)
	a.set(stateReader, 0)
	a.set(stateRead, 0)
	a.clear(stateSocket)
	a.follow()
}

// follow makes the matched packet the followed one.
func (a *assembler) follow() {
	a.do(
		asm.StoreMem(asm.R7, statePacket, asm.R6, asm.DWord),
		asm.LoadMem(asm.R1, asm.RFP, onSequence, asm.Word),
		asm.StoreMem(asm.R7, stateSequence, asm.R1, asm.Word),
	)
	a.set(stateArrived, 0)
}

// origin remembers in which namespace the packet is sent.
func (a *assembler) origin() {
	a.namespace(asm.R1)
	a.do(asm.StoreMem(asm.R7, stateOrigin, asm.R1, asm.Word))
}

// again follows a packet that has the followed one's data in this phase, and jumps: to sentOn if a wire outside of the
// kernel sends it on, to resent if TCP sends it once more.
func (a *assembler) again(g *generator, phase int32) {
	other, elsewhere := a.fresh("other"), a.fresh("elsewhere")
	a.load(asm.R1, statePhase)
	a.do(asm.JNE.Imm(asm.R1, phase, other))
	a.namespace(asm.R8)
	a.load(asm.R1, stateSequence)
	a.load(asm.R3, stateOrigin)
	a.do(
		asm.LoadMem(asm.R2, asm.RFP, onSequence, asm.Word),
		asm.JNE.Reg(asm.R1, asm.R2, other),
		asm.JNE.Reg(asm.R8, asm.R3, elsewhere),
	)
	if g.protocol != protocolTCP {
		a.do(asm.Ja.Label(other)) // the next request
	} else {
		a.do(asm.StoreMem(asm.R7, statePacket, asm.R6, asm.DWord), asm.Ja.Label("resent"))
	}
	a.mark(elsewhere)
	a.do(asm.StoreMem(asm.R7, statePacket, asm.R6, asm.DWord), asm.Ja.Label("sentOn"))
	a.mark(other)
}

// sender records when the current thread entered the system call that sends, and remembers the thread.
func (a *assembler) sender(g *generator, field int16) {
	none := a.fresh("kernel")
	a.thread()
	a.do(asm.Mov.Reg(asm.R8, asm.R0))
	a.cpu(g)
	a.do(
		asm.LoadMem(asm.R1, asm.R0, cpuThread, asm.Word),
		asm.JNE.Reg(asm.R1, asm.R8, none), // the kernel itself sends
		asm.JEq.Imm(asm.R1, 0, none),
		asm.StoreImm(asm.R0, cpuThread, 0, asm.Word),
		asm.StoreMem(asm.R7, field, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R0, cpuBefore, asm.Word),
		asm.StoreMem(asm.RFP, onNumber, asm.R1, asm.Word),
		asm.LoadMem(asm.R2, asm.RFP, onTime, asm.DWord),
		asm.LoadMem(asm.R1, asm.R0, cpuEntered, asm.DWord),
		asm.StoreMem(asm.RFP, onTime, asm.R1, asm.DWord),
		asm.StoreMem(asm.RFP, onAddress, asm.R2, asm.DWord),
	)
	a.threadEvent(g, evEnter, asm.R8, 0)
	a.do(
		asm.LoadMem(asm.R2, asm.RFP, onAddress, asm.DWord),
		asm.StoreMem(asm.RFP, onTime, asm.R2, asm.DWord),
	)
	a.mark(none)
}

// passed follows packets past a tracepoint.
func (g *generator) passed(kind eventType) asm.Instructions {
	a := g.begin(0)
	a.isFollowed("follow")
	a.do(asm.Ja.Label(out))
	a.mark("follow")
	a.now()
	a.record(g, kind, true)
	return a.end()
}

// arrived follows packets that arrive. A packet can be a new one here: behind a wire outside of the kernel, or on the
// machine that receives.
func (g *generator) arrived(kind, found eventType) asm.Instructions {
	a := g.begin(0)
	if kind == evReceive {
		a.cpu(g)
		a.do(
			asm.LoadMem(asm.R1, asm.R0, cpuReceived, asm.Word),
			asm.Add.Imm(asm.R1, 1),
			asm.StoreMem(asm.R0, cpuReceived, asm.R1, asm.Word),
		)
	}
	a.isFollowed("follow")
	if g.side == declared.Server {
		a.now()
		a.underWayOrDue()
	} else {
		a.duringTrip()
	}
	if kind == evReceive { // another packet: what becomes ready on this CPU now is its data
		a.thisCPU()
		a.load(asm.R1, stateArrived)
		a.do(asm.JNE.Reg(asm.R0, asm.R1, "foreign"))
		a.set(stateArrived, 0)
		a.mark("foreign")
	}
	a.match(g.flow)
	if g.side == declared.Server {
		a.receivedRequest(g)
	}
	a.load(asm.R1, statePhase)
	if g.side == declared.Client {
		a.do(asm.JEq.Reg(asm.R1, asm.R8, "anew"))
		a.do(asm.JNE.Imm(asm.R1, phaseRequest, out), asm.JNE.Imm(asm.R8, phaseReply, out))
		a.set(statePhase, phaseReply)
		a.follow()
		a.do(asm.Ja.Label("found"))
		a.mark("anew")
	} else {
		a.do(asm.JNE.Reg(asm.R1, asm.R8, out))
	}
	a.load(asm.R1, stateSequence)
	a.do(asm.LoadMem(asm.R2, asm.RFP, onSequence, asm.Word), asm.JNE.Reg(asm.R1, asm.R2, out))
	a.follow()
	a.mark("found")
	a.now()
	a.record(g, found, true)
	a.do(asm.Ja.Label("kept"))
	a.mark("follow")
	a.now()
	a.record(g, kind, true)
	a.mark("kept")
	if kind == evReceive {
		a.thisCPU()
		a.do(asm.StoreMem(asm.R7, stateArrived, asm.R0, asm.Word))
	}
	a.learn(g)
	return a.end()
}

// receivedRequest begins a trip on a machine of the server alone, whose last trip ends with it.
func (a *assembler) receivedRequest(g *generator) {
	a.do(asm.JNE.Imm(asm.R8, phaseRequest, "later"))
	a.load(asm.R1, statePhase)
	a.do(asm.JNE.Imm(asm.R1, phaseRequest, "new"))
	a.do(asm.LoadMem(asm.R2, asm.RFP, onSequence, asm.Word))
	a.load(asm.R1, stateSequence)
	a.do(asm.JEq.Reg(asm.R1, asm.R2, "later"))
	a.mark("new")
	a.inSpace(g)
	a.load(asm.R1, statePhase)
	a.do(asm.JNE.Imm(asm.R1, phaseReply, "start"))
	a.finish(g)
	a.mark("start")
	a.due()
	a.startTrip(g)
	a.do(asm.Ja.Label("found"))
	a.mark("later")
}

// ready records that the socket has the data of the packet that this CPU received last. Packet sockets do not count:
// they get a copy on the way, as a capture or a wire outside of the kernel does.
func (g *generator) ready() asm.Instructions {
	a := g.begin(0)
	a.duringTrip()
	a.do(
		asm.LoadMem(asm.R1, asm.R6, g.family, asm.Half),
		asm.JEq.Imm(asm.R1, unix.AF_INET, "internet"),
		asm.JNE.Imm(asm.R1, unix.AF_INET6, out),
	)
	a.mark("internet")
	a.thisCPU()
	a.load(asm.R1, stateArrived)
	a.do(asm.JNE.Reg(asm.R1, asm.R0, out))
	a.do(asm.StoreMem(asm.R7, stateReady, asm.R0, asm.Word))
	a.set(stateWakes, 0)
	a.do(asm.StoreMem(asm.R7, stateSocket, asm.R6, asm.DWord))
	a.clear(statePacket) // its memory can be another packet's from here on
	a.set(stateArrived, 0)
	a.now()
	a.threadEvent(g, evReady, 0, 0)
	return a.end()
}

// waking records which threads are woken on the CPU of the data until a thread has it, the first maxWakes. One is the
// reader; an interrupt can wake others.
func (g *generator) waking() asm.Instructions {
	a := g.begin(0)
	a.duringTrip()
	a.thisCPU()
	a.load(asm.R1, stateReady)
	a.do(asm.JNE.Reg(asm.R1, asm.R0, out))
	a.load(asm.R1, stateWakes)
	a.do(
		asm.JGE.Imm(asm.R1, maxWakes, out),
		asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, stateWakes, asm.R1, asm.Word),
		asm.LoadMem(asm.R8, asm.R6, g.pid, asm.Word),
	)
	a.now()
	a.threadEvent(g, evWake, asm.R8, 0)
	return a.end()
}

// woken records that one of the two threads was put into the queue of a control group without CPU time: that is found out
// when it is put there.
func (g *generator) woken() asm.Instructions {
	a := g.begin(0)
	a.duringTrip()
	a.do(asm.LoadMem(asm.R8, asm.R6, g.pid, asm.Word))
	a.watched(asm.R8, out)
	a.isThrottled(asm.R3, asm.R6)
	a.do(asm.JEq.Imm(asm.R3, 0, out))
	a.now()
	a.threadEvent(g, evThrottled, asm.R8, 0)
	return a.end()
}

// isThrottled puts into a register whether the control group of a thread has used up its CPU time.
func (a *assembler) isThrottled(to, thread asm.Register) {
	if a.throttled == 0 {
		a.do(asm.Mov.Imm(to, 0))
		return
	}
	a.do(asm.LoadMem(to, thread, a.queue, asm.DWord), asm.LoadMem(to, to, a.throttled, asm.Word))
}

// switched records when the two threads get a CPU and lose it.
func (g *generator) switched() asm.Instructions {
	a := &assembler{offsets: g.offsets}
	a.do(
		asm.LoadMapValue(asm.R7, g.state, 0),
		asm.LoadMem(asm.R2, asm.R7, statePhase, asm.Word),
		asm.JEq.Imm(asm.R2, phaseIdle, out),
		asm.LoadMem(asm.R6, asm.R1, 8, asm.DWord),  // the thread before
		asm.LoadMem(asm.R8, asm.R1, 16, asm.DWord), // the next one
		asm.LoadMem(asm.R9, asm.R1, 24, asm.Word),  // the state of the one before
		asm.And.Imm(asm.R9, offState),
	)
	a.isThrottled(asm.R3, asm.R6)
	a.do(asm.JEq.Imm(asm.R3, 0, "free"), asm.Or.Imm(asm.R9, offThrottled))
	a.mark("free")
	a.do(
		asm.StoreMem(asm.RFP, onNumber, asm.R9, asm.Word),
		asm.LoadMem(asm.R1, asm.R6, g.comm, asm.DWord),
		asm.StoreMem(asm.RFP, onAddress, asm.R1, asm.DWord),
		asm.LoadMem(asm.R6, asm.R6, g.pid, asm.Word),
		asm.LoadMem(asm.R8, asm.R8, g.pid, asm.Word),
	)
	a.watched(asm.R6, "run")
	a.now()
	a.threadEvent(g, evOff, asm.R6, asm.R8)
	a.mark("run")
	a.watched(asm.R8, out)
	a.do(
		asm.LoadMem(asm.R1, asm.RFP, onAddress, asm.DWord),
		asm.LoadImm(asm.R2, int64(binary.NativeEndian.Uint64([]byte("ksoftirq"))), asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, "other"),
		asm.Mov.Imm(asm.R6, softirqThread),
	)
	a.mark("other")
	a.now()
	a.threadEvent(g, evRun, asm.R8, asm.R6)
	return a.end()
}

// watched jumps if a thread is neither the client's nor the server's. 0 is the idle thread.
func (a *assembler) watched(thread asm.Register, other string) {
	is := a.fresh("watched")
	a.load(asm.R2, stateClient)
	a.load(asm.R3, stateServer)
	a.do(
		asm.JEq.Imm(thread, 0, other),
		asm.JEq.Reg(thread, asm.R2, is),
		asm.JNE.Reg(thread, asm.R3, other),
	)
	a.mark(is)
}

// copied records that a thread has the data. Which function of the kernel copies it differs by protocol and by the
// packet's form; all end at the socket.
func (g *generator) copied() asm.Instructions {
	a := &assembler{offsets: g.offsets}
	a.do(
		asm.LoadMapValue(asm.R7, g.state, 0),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R3, asm.R7, stateSocket, asm.DWord),
		asm.JNE.Reg(asm.R2, asm.R3, out),
		asm.LoadMem(asm.R2, asm.R1, 8, asm.Word), // what the socket gives, a length or an error
		asm.LSh.Imm(asm.R2, 32), asm.ArSh.Imm(asm.R2, 32),
		asm.JSLE.Imm(asm.R2, 0, out),
		asm.LoadMem(asm.R2, asm.R1, 16, asm.Word),
		asm.JSet.Imm(asm.R2, unix.MSG_PEEK, out),
	)
	a.duringTrip()
	a.now()
	a.thread()
	a.do(asm.Mov.Reg(asm.R8, asm.R0), asm.StoreMem(asm.R7, stateReader, asm.R8, asm.Word))
	a.clear(stateSocket)
	a.set(stateReady, 0)
	a.set(stateRead, 1)
	a.load(asm.R1, statePhase)
	a.do(
		asm.JEq.Imm(asm.R1, phaseReply, "client"),
		asm.StoreMem(asm.R7, stateServer, asm.R8, asm.Word), asm.Ja.Label("known"),
	)
	a.mark("client")
	a.do(asm.StoreMem(asm.R7, stateClient, asm.R8, asm.Word))
	a.mark("known")
	a.threadEvent(g, evCopy, asm.R8, 0)
	return a.end()
}

// returned records that the thread that got the data is back in its program. A reply's trip ends there.
func (g *generator) returned() asm.Instructions {
	a := &assembler{offsets: g.offsets}
	a.do(asm.LoadMapValue(asm.R7, g.state, 0))
	a.load(asm.R8, stateReader)
	a.do(asm.JEq.Imm(asm.R8, 0, out))
	a.thread()
	a.do(asm.JNE.Reg(asm.R0, asm.R8, out))
	a.duringTrip()
	a.set(stateReader, 0)
	a.now()
	a.threadEvent(g, evReturn, asm.R8, 0)
	a.stampLast()
	if g.side != declared.Server {
		a.load(asm.R1, statePhase)
		a.do(asm.JNE.Imm(asm.R1, phaseReply, out))
		a.finish(g)
	}
	return a.end()
}

// stampLast gives the event that was recorded the time of now: what recording it took is a part of the trip, as it is for
// the program.
func (a *assembler) stampLast() {
	a.do(asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.R9, slotEvents+eventTime, asm.R0, asm.DWord))
}

// finish marks the trip as seen to its end.
func (a *assembler) finish(g *generator) {
	a.set(statePhase, phaseIdle)
	a.load(asm.R1, stateSlot)
	a.element(g.slots)
	a.do(asm.StoreImm(asm.R0, slotDone, 1, asm.Word))
}

// dropped records that the packet is gone.
func (g *generator) dropped() asm.Instructions {
	a := &assembler{offsets: g.offsets}
	a.do(
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R8, asm.R1, 16, asm.DWord),
		asm.LoadMapValue(asm.R7, g.state, 0),
	)
	a.isFollowed("follow")
	a.do(asm.Ja.Label(out))
	a.mark("follow")
	a.duringTrip()
	a.clear(statePacket)
	a.now()
	a.do(asm.StoreMem(asm.RFP, onNumber, asm.R8, asm.Word))
	a.threadEvent(g, evDrop, 0, 0)
	return a.end()
}

// threadEvent records an event that is not at a device. thread and second are what the event says instead of a device and
// its namespace, in registers; 0 is none.
func (a *assembler) threadEvent(g *generator, kind eventType, thread, second asm.Register) {
	for _, said := range []struct {
		at int16
		in asm.Register
	}{{onFirst, thread}, {onSecond, second}} {
		if said.in == 0 {
			a.do(asm.StoreImm(asm.RFP, said.at, 0, asm.Word))
		} else {
			a.do(asm.StoreMem(asm.RFP, said.at, said.in, asm.Word))
		}
	}
	a.record(g, kind, false)
}

// record adds an event to the trip's slot, at the time on the stack. R6 is a packet whose device is recorded, or the
// stack has what stands in its place. R8 stays, R9 is the event. If the slot is full, the program ends.
func (a *assembler) record(g *generator, kind eventType, withDevice bool) {
	a.load(asm.R1, stateSlot)
	a.element(g.slots)
	a.do(
		asm.Mov.Reg(asm.R9, asm.R0),
		asm.Mov.Imm(asm.R1, 1),
		fetchAdd(asm.R9, asm.R1, slotCount),
		asm.JGE.Imm(asm.R1, maxEvents, out),
		asm.Mul.Imm(asm.R1, eventSize),
		asm.Add.Reg(asm.R9, asm.R1),
		asm.LoadMem(asm.R1, asm.RFP, onTime, asm.DWord),
		asm.StoreMem(asm.R9, slotEvents+eventTime, asm.R1, asm.DWord),
	)
	if withDevice {
		a.do(
			asm.LoadMem(asm.R1, asm.R6, a.skbDevice, asm.DWord),
			asm.LoadMem(asm.R2, asm.R1, a.ifindex, asm.Word),
			asm.StoreMem(asm.R9, slotEvents+eventDevice, asm.R2, asm.Word),
			asm.LoadMem(asm.R2, asm.R1, a.net, asm.DWord),
			asm.LoadMem(asm.R2, asm.R2, a.inum, asm.Word),
			asm.StoreMem(asm.R9, slotEvents+eventSpace, asm.R2, asm.Word),
			asm.StoreMem(asm.R7, stateSpace, asm.R2, asm.Word),
		)
	} else {
		a.do(
			asm.LoadMem(asm.R1, asm.RFP, onFirst, asm.Word),
			asm.StoreMem(asm.R9, slotEvents+eventDevice, asm.R1, asm.Word),
			asm.LoadMem(asm.R1, asm.RFP, onSecond, asm.Word),
			asm.StoreMem(asm.R9, slotEvents+eventSpace, asm.R1, asm.Word),
		)
	}
	a.do(
		asm.StoreImm(asm.R9, slotEvents+eventKind, int64(kind), asm.Half),
		asm.FnGetSmpProcessorId.Call(),
		asm.StoreMem(asm.R9, slotEvents+eventCPU, asm.R0, asm.Half),
	)
	switch kind {
	case evEnter, evOff, evDrop:
		a.do(asm.LoadMem(asm.R1, asm.RFP, onNumber, asm.Word))
	default:
		a.do(asm.Mov.Reg(asm.R1, asm.R0))
		a.element(g.cpus)
		a.do(asm.LoadMem(asm.R1, asm.R0, cpuReceived, asm.Word))
	}
	a.do(asm.StoreMem(asm.R9, slotEvents+eventNumber, asm.R1, asm.Word))
}

// learn records what the packet's device is, in the first trips.
func (a *assembler) learn(g *generator) {
	plain := a.fresh("plain")
	a.load(asm.R1, stateSlot)
	a.do(asm.JGE.Imm(asm.R1, learnedTrips, out))
	a.do(asm.Mov.Imm(asm.R1, 0))
	for at := int16(0); at < deviceSize; at += 8 {
		a.do(asm.StoreMem(asm.RFP, onDevice+at, asm.R1, asm.DWord))
	}
	copyTo := func(at int16, from asm.Register) {
		a.do(
			asm.Mov.Reg(asm.R3, from),
			asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, int32(onDevice+at)),
			asm.Mov.Imm(asm.R2, 16),
			asm.FnProbeReadKernelStr.Call(),
		)
	}
	a.do(
		asm.LoadMem(asm.R9, asm.R6, a.skbDevice, asm.DWord),
		asm.LoadMem(asm.R1, asm.R9, a.ifindex, asm.Word),
		asm.StoreMem(asm.RFP, onName, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R9, a.priv, asm.Word),
		asm.StoreMem(asm.RFP, onDevice+deviceFlags, asm.R1, asm.Word),
		asm.LoadMem(asm.R1, asm.R9, a.net, asm.DWord),
		asm.LoadMem(asm.R1, asm.R1, a.inum, asm.Word),
		asm.StoreMem(asm.RFP, onName+4, asm.R1, asm.Word),
		asm.Mov.Reg(asm.R8, asm.R9), asm.Add.Imm(asm.R8, int32(a.name)),
	)
	copyTo(deviceName, asm.R8)
	a.do(
		asm.LoadMem(asm.R1, asm.R9, a.link, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, plain), // hardware
		asm.LoadMem(asm.R8, asm.R1, a.linkKind, asm.DWord),
	)
	copyTo(deviceKind, asm.R8)
	a.mark(plain)
	a.do(
		asm.LoadMapPtr(asm.R1, g.devices),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, onName),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, onDevice),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnMapUpdateElem.Call(),
	)
}
