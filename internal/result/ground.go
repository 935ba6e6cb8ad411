package result

// The facts of a trial about the machine it ran on, which a runner records itself: see docs/results.md. Shares are 0 to 1, delays and
// latenesses durations such as "1.2ms". What the machine does not say is left out.
const (
	// FactWaited is the share of the time in which the trial's processes wanted a CPU that they waited while other programs ran.
	FactWaited = "cpu_waited"
	// FactOthers is the share of the time of the trial's CPUs that other programs used.
	FactOthers = "cpu_others"
	// FactMachineOthers is the same of all CPUs that the hosts may use.
	FactMachineOthers = "machine_others"
	// FactSoftirq is the share of the time of the trial's CPUs that was spent in software interrupts.
	FactSoftirq = "cpu_softirq"
	// FactPressure is the share of the trial's time in which some process of the machine waited for a CPU, FactCgroupPressure
	// the same for nearfar's control group.
	FactPressure       = "cpu_pressure"
	FactCgroupPressure = "cpu_pressure.cgroup"
	// FactRunDelay is how long the client's threads could have run and waited for a CPU. FactServerRunDelay and FactWireRunDelay
	// are the same for the server and for the process that plays the user-space wires.
	FactRunDelay       = "run_delay"
	FactServerRunDelay = "server.run_delay"
	FactWireRunDelay   = "wire.run_delay"
	// FactFrequencyBefore and FactFrequencyAfter are the frequency in MHz of the slowest of the trial's CPUs.
	FactFrequencyBefore = "cpu_frequency.before"
	FactFrequencyAfter  = "cpu_frequency.after"
	// FactWirePackets and the next three are of the user-space wire that was latest: how many packets left it, and how much later
	// than they were due.
	FactWirePackets     = "wire.packets"
	FactWireLatenessP50 = "wire.lateness_p50"
	FactWireLatenessP99 = "wire.lateness_p99"
	FactWireLatenessMax = "wire.lateness_max"
)
