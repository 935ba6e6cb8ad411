package inside

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
)

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

// woken records that one of the two threads was put into the queue of a control group without CPU time: that is found
// out when it is put there.
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
	a.untimed()
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
	a.do(asm.LoadMem(asm.R1, asm.RFP, onTime, asm.DWord), asm.JNE.Imm(asm.R1, 0, "timed")) // one moment for both
	a.now()
	a.mark("timed")
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
	a.untimed() // stampLast sets it
	a.threadEvent(g, evReturn, asm.R8, 0)
	a.stampLast()
	if g.side != declared.Server {
		a.load(asm.R1, statePhase)
		a.do(asm.JNE.Imm(asm.R1, phaseReply, out))
		a.finish(g)
	}
	return a.end()
}
