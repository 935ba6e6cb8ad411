package inside

import (
	"github.com/cilium/ebpf/asm"
)

// stampLast gives the event that was recorded the time of now: what recording it took is a part of the trip, as it is
// for the program.
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

// threadEvent records an event that is not at a device. thread and second are what the event says instead of a device
// and its namespace, in registers; 0 is none.
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
	if a.stolen != 0 && kind.tellsStolen() {
		a.steal(kind)
	}
}

// steal records how long the hypervisor has not run this CPU, as of when the scheduler last worked on it. An evWake is
// about another CPU: the one on which the woken thread, in R6, ran last. Its number is recorded too. R9 is the event.
func (a *assembler) steal(kind eventType) {
	if kind == evWake {
		a.do(asm.Mov.Reg(asm.R0, asm.R6))
	} else {
		a.do(asm.FnGetCurrentTaskBtf.Call())
	}
	a.do(
		asm.LoadMem(asm.R1, asm.R0, a.queue, asm.DWord),
		asm.LoadMem(asm.R1, asm.R1, a.runQueue, asm.DWord),
		asm.LoadMem(asm.R2, asm.R1, a.stolen, asm.DWord),
		asm.StoreMem(asm.R9, slotEvents+eventStolen, asm.R2, asm.Word),
	)
	if kind == evWake {
		a.do(
			asm.LoadMem(asm.R1, asm.R1, a.runQueueCPU, asm.Word),
			asm.StoreMem(asm.R9, slotEvents+eventNumber, asm.R1, asm.Word),
		)
	}
}

// learn records what the packet's device is, and in which tunnel the packet is there, in the first trips. The program
// ends with it.
func (a *assembler) learn(g *generator, way int32) {
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
	a.learnTunnel(g, way)
}
