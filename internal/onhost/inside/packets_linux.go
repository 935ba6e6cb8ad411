package inside

import (
	"github.com/cilium/ebpf/asm"

	declared "nearfar/internal/declare/inside"
	"nearfar/internal/onhost/capture"
)

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
	a.match(g.flow, waySent)
	a.do(asm.JEq.Imm(asm.R8, phaseReply, "reply"))
	if g.side != declared.Server { // a request
		a.again(g, phaseRequest)
		a.inSpace(g)
		a.due()
		a.startTrip(g)
		a.origin()
		a.sender(g, stateClient)
		a.record(g, evRequest, true)
		a.learn(g, waySent)
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
		if g.protocol == capture.ProtoTCP || g.protocol == capture.ProtoUDP {
			// A program cannot answer what it has not read: TCP sends an earlier reply again.
			a.load(asm.R1, stateRead)
			a.do(asm.JEq.Imm(asm.R1, 0, out))
		}
		a.set(statePhase, phaseReply)
		a.follow()
		a.origin()
		a.sender(g, stateServer)
		a.record(g, evReply, true)
		a.learn(g, waySent)
	}
	a.do(asm.Ja.Label(out))
	a.mark("sentOn")
	a.record(g, evFoundQ, true)
	a.learn(g, waySent)
	a.do(asm.Ja.Label(out))
	if g.protocol == capture.ProtoTCP {
		a.mark("resent")
		a.threadEvent(g, evResent, 0, 0)
	}
	a.mark("follow")
	a.record(g, evQueue, true)
	a.learn(g, waySent)
	return a.end()
}

// inSpace ends the program at a packet that is not in the namespace in which trips begin: another lab of the machine
// can have the same addresses and ports.
func (a *assembler) inSpace(g *generator) {
	if g.space != 0 {
		a.namespace(asm.R1)
		a.do(asm.Mov.Imm32(asm.R2, int32(g.space)), asm.JNE.Reg(asm.R1, asm.R2, out))
	}
}

// due ends the program if the next trip may not yet be sampled at the event's time. A trip that is under way is then
// given up.
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
	if g.protocol != capture.ProtoTCP {
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

// arrived follows packets that arrive. A packet can be a new one here: behind a wire outside of the kernel (found), or
// on the machine that receives; there it comes back, if it is a reply.
func (g *generator) arrived(kind, found, back eventType) asm.Instructions {
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
	a.match(g.flow, wayReceived)
	if g.side == declared.Server {
		a.receivedRequest(g)
	}
	a.load(asm.R1, statePhase)
	if g.side == declared.Client {
		a.do(asm.JEq.Reg(asm.R1, asm.R8, "anew"))
		a.do(asm.JNE.Imm(asm.R1, phaseRequest, out), asm.JNE.Imm(asm.R8, phaseReply, out))
		a.set(statePhase, phaseReply)
		a.follow()
		a.now()
		a.record(g, back, true)
		a.do(asm.Ja.Label("kept"))
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
	a.learn(g, wayReceived)
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
