package host

import "time"

// Contention says who used a machine's CPUs during a trial, from right before its first process started until right
// after its last one ended. The zero value says that nothing is known.
type Contention struct {
	// Window is the length of that time; 0 if nothing is known.
	Window time.Duration
	// Client and Server are the two sides. Shared says that both may run on a same CPU; CPUs and Others of Client then
	// cover both sides.
	Client, Server ContentionSide
	Shared         bool
	// Wire is the user-space wire of the trial's arm that was latest; nil without one.
	Wire *ContentionWire
	// MachineOthers is the CPU time of other programs on all CPUs that the host may use, MachineCPUs the number of
	// these CPUs. MachineKnown is false if the time cannot be told.
	MachineOthers time.Duration
	MachineCPUs   int
	MachineKnown  bool
	// Softirq is the time that the trial's CPUs spent in software interrupts, CPUs the number of these CPUs.
	Softirq time.Duration
	CPUs    int
	// Pressure is how long some process of the machine waited for a CPU (pressure stall information), CgroupPressure
	// the same for nearfar's control group; nil if the kernel does not say.
	Pressure, CgroupPressure *time.Duration
	// FrequencyBefore and FrequencyAfter are the frequency of the slowest of the trial's CPUs in MHz; 0 if it is not
	// known.
	FrequencyBefore, FrequencyAfter int
}

// ContentionSide is one side of a trial.
type ContentionSide struct {
	// Ran is the CPU time of the side's processes, Lived the lifetime of the longest of them.
	Ran, Lived time.Duration
	// Delay is how long their threads were runnable and waited for a CPU (run delay). DelayKnown says that it covers
	// the threads that used most of the CPU time.
	Delay      time.Duration
	DelayKnown bool
	// Pinned says that the side's processes were bound to CPUs; CPUs is the number of CPUs that they could use.
	Pinned bool
	CPUs   int
	// Others is the CPU time of other programs on the side's CPUs; OthersKnown is false if it cannot be told.
	Others      time.Duration
	OthersKnown bool
}

// ContentionWire says how late a user-space wire was during a trial.
type ContentionWire struct {
	// Packets is how many packets left the wire; the latencies say how much later they left than they were due.
	Packets                               uint64
	LatenessP50, LatenessP99, LatenessMax time.Duration
	// Delay is how long the wires' threads waited for a CPU.
	Delay time.Duration
}

// Others is the CPU time of other programs on the trial's CPUs; false if it is not known.
func (c Contention) Others() (time.Duration, bool) {
	if c.Shared {
		return c.Client.Others, c.Client.OthersKnown
	}
	return c.Client.Others + c.Server.Others, c.Client.OthersKnown && c.Server.OthersKnown
}
