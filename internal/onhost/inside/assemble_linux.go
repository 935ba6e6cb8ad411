package inside

import (
	"strconv"

	"github.com/cilium/ebpf/asm"
)

// An assembler gathers the instructions of one program for the kernel. Registers keep their meaning in all programs:
// R6 is what the tracepoint is about (packet or thread), R7 the state, R8 and R9 are free.
type assembler struct {
	offsets
	code   asm.Instructions
	label  string // of the next instruction
	labels int
}

// The stack of a program, as offsets from its frame pointer.
const (
	onKey      = -8   // u32: an index into an array
	onTime     = -16  // u64: the event's time
	onFirst    = -20  // u32: the event's device, if it is no device
	onSecond   = -24  // u32: the event's space, if it is no device
	onNumber   = -28  // u32: the event's number
	onSequence = -32  // u32: the sequence number of a matched packet
	onAddress  = -40  // u64: where the packet's network header is
	onPacket   = -104 // packetRead bytes of the packet
	onDevice   = -144 // deviceSize bytes
	onName     = -152 // deviceKey

	packetRead = 64
)

// out is the label of the end of a program.
const out = "out"

// do adds instructions.
func (a *assembler) do(all ...asm.Instruction) {
	for _, one := range all {
		if a.label != "" {
			one = one.WithSymbol(a.label)
			a.label = ""
		}
		a.code = append(a.code, one)
	}
}

// mark gives the next instruction a label. An instruction can have one; of two, the first is a jump to the second.
func (a *assembler) mark(label string) {
	if a.label != "" {
		a.do(asm.Ja.Label(label))
	}
	a.label = label
}

// fresh makes a label that no other code has.
func (a *assembler) fresh(name string) string {
	a.labels++
	return name + strconv.Itoa(a.labels)
}

// end ends the program.
func (a *assembler) end() asm.Instructions {
	a.mark(out)
	a.do(asm.Mov.Imm(asm.R0, 0), asm.Return())
	return a.code
}

// load reads a field of the state.
func (a *assembler) load(to asm.Register, field int16) {
	a.do(asm.LoadMem(to, asm.R7, field, asm.Word))
}

// set writes a constant into a field of the state.
func (a *assembler) set(field int16, value int64) {
	a.do(asm.StoreImm(asm.R7, field, value, asm.Word))
}

// clear writes 0 into a field of the state of 64 bits.
func (a *assembler) clear(field int16) {
	a.do(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R7, field, asm.R1, asm.DWord))
}

// thisCPU puts 1 + the number of this CPU into R0.
func (a *assembler) thisCPU() {
	a.do(asm.FnGetSmpProcessorId.Call(), asm.Add.Imm(asm.R0, 1))
}

// now stores the time of the event.
func (a *assembler) now() {
	a.do(asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.RFP, onTime, asm.R0, asm.DWord))
}

// untimed says that the time of the event is not known yet.
func (a *assembler) untimed() {
	a.do(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, onTime, asm.R1, asm.DWord))
}

// thread puts the number of the current thread into R0.
func (a *assembler) thread() {
	a.do(asm.FnGetCurrentPidTgid.Call(), asm.Mov.Reg32(asm.R0, asm.R0))
}

// namespace puts the network namespace of the packet's device into a register.
func (a *assembler) namespace(to asm.Register) {
	a.do(
		asm.LoadMem(to, asm.R6, a.skbDevice, asm.DWord),
		asm.LoadMem(to, to, a.net, asm.DWord),
		asm.LoadMem(to, to, a.inum, asm.Word),
	)
}

// element puts the address of an array's element into R0, and ends the program if there is none. The index is in R1.
func (a *assembler) element(array int) {
	a.do(
		asm.StoreMem(asm.RFP, onKey, asm.R1, asm.Word),
		asm.LoadMapPtr(asm.R1, array),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, onKey),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, out),
	)
}

// fetchAdd adds a register to a number of 32 bits in memory, and puts the number from before into the register. Other
// CPUs can do so at the same time. The library (0.22.0) drops which operation it is when it encodes the instruction,
// unless the instruction's constant says so too.
func fetchAdd(memory, register asm.Register, offset int16) asm.Instruction {
	one := asm.FetchAdd.Mem(memory, register, asm.Word, offset)
	one.Constant = int64(asm.FetchAdd >> 8)
	return one
}
