package host

import "time"

// Ground is what happened on a machine beside the processes of a trial, from right before the first of them started until right
// after the last one ended. The zero value says that nothing is known.
type Ground struct {
	// Window is that time; 0 where nothing is known.
	Window time.Duration
	// Client and Server are the two sides. Where some CPU is of both, Shared is true, and CPUs and Others of Client are of both
	// sides together.
	Client, Server GroundSide
	Shared         bool
	// Wire is the user-space wire of the trial's arm that was latest; nil where there is none.
	Wire *GroundWire
	// MachineOthers is the CPU time that other programs had on all CPUs that the host may use, MachineCPUs how many these are;
	// MachineKnown is false where that cannot be told.
	MachineOthers time.Duration
	MachineCPUs   int
	MachineKnown  bool
	// Softirq is the time that the trial's CPUs spent in software interrupts, CPUs how many they are.
	Softirq time.Duration
	CPUs    int
	// Pressure is how long some process of the machine waited for a CPU (pressure stall information), CgroupPressure the same for
	// nearfar's control group; nil where the kernel does not say.
	Pressure, CgroupPressure *time.Duration
	// FrequencyBefore and FrequencyAfter are those of the slowest of the trial's CPUs in MHz; 0 where it is not known.
	FrequencyBefore, FrequencyAfter int
}

// GroundSide is one side of a trial.
type GroundSide struct {
	// Ran is the CPU time of the side's processes, Lived how long the longest of them was there.
	Ran, Lived time.Duration
	// Delay is how long their threads could have run and waited for a CPU; DelayKnown says that it is known of those that ran.
	Delay      time.Duration
	DelayKnown bool
	// Pinned says that the side's processes were bound to CPUs of their own choice: CPUs is their number.
	Pinned bool
	CPUs   int
	// Others is the CPU time that other programs had on the side's CPUs; OthersKnown is false where it cannot be told.
	Others      time.Duration
	OthersKnown bool
}

// GroundWire is how a user-space wire did in a trial.
type GroundWire struct {
	// Packets left the wire; they left so much later than they were due.
	Packets                               uint64
	LatenessP50, LatenessP99, LatenessMax time.Duration
	// Delay is how long the wires' threads waited for a CPU.
	Delay time.Duration
}

// Others is the CPU time that other programs had on the trial's CPUs; false where that is not known.
func (g Ground) Others() (time.Duration, bool) {
	if g.Shared {
		return g.Client.Others, g.Client.OthersKnown
	}
	return g.Client.Others + g.Server.Others, g.Client.OthersKnown && g.Server.OthersKnown
}
