package inside

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// A generator makes the programs for one flow.
type generator struct {
	offsets
	flow
	// state, slots, cpus, devices and tunnels are the maps that the programs write.
	state, slots, cpus, devices, tunnels int
}

// A program is what runs at a tracepoint of the kernel.
type program struct {
	tracepoint string
	code       asm.Instructions
}

// load hands the program to the kernel, which checks it.
func (p program) load() (*ebpf.Program, error) {
	return ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "nearfar", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: p.tracepoint, License: "GPL",
		Instructions: p.code,
	})
}

// programs are all programs, in the order in which a packet meets them.
func (g *generator) programs() []program {
	return []program{
		{"sys_enter", g.entered()},
		{"net_dev_queue", g.queued()},
		{"net_dev_start_xmit", g.passed(evXmit)},
		{"netif_rx", g.arrived(evBacklog, evFoundB, evBackB)},
		{"napi_gro_receive_entry", g.passed(evMerge)},
		{"netif_receive_skb", g.arrived(evReceive, evFoundR, evBackR)},
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
