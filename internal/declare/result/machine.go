package result

// Facts about the machine during a trial, which a runner records (docs/results.md). Shares are 0 to 1; delays and
// latenesses are durations such as "1.2ms". Facts that the machine does not provide are left out.
const (
	// FactWaited is the share of its runnable time that the trial's processes waited for a CPU while other programs
	// ran.
	FactWaited = "cpu_waited"
	// FactOthers is the share of the time of the trial's CPUs that other programs used.
	FactOthers = "cpu_others"
	// FactMachineOthers is the same for all CPUs that the hosts may use.
	FactMachineOthers = "machine_others"
	// FactSoftirq is the share of the time of the trial's CPUs that was spent in software interrupts.
	FactSoftirq = "cpu_softirq"
	// FactPressure is the share of the trial's time in which some process of the machine waited for a CPU,
	// FactCgroupPressure the same for nearfar's control group.
	FactPressure       = "cpu_pressure"
	FactCgroupPressure = "cpu_pressure.cgroup"
	// FactRunDelay is how long the client's threads were runnable and waited for a CPU. FactServerRunDelay and
	// FactWireRunDelay are the same for the server, and for the process that implements the user-space wires.
	FactRunDelay       = "run_delay"
	FactServerRunDelay = "server.run_delay"
	FactWireRunDelay   = "wire.run_delay"
	// FactFrequencyBefore and FactFrequencyAfter are the frequency in MHz of the slowest of the trial's CPUs.
	FactFrequencyBefore = "cpu_frequency.before"
	FactFrequencyAfter  = "cpu_frequency.after"
	// FactWirePackets and the next three describe the user-space wire with the highest lateness: how many packets
	// left it, and how long after their due time.
	FactWirePackets     = "wire.packets"
	FactWireLatenessP50 = "wire.lateness_p50"
	FactWireLatenessP99 = "wire.lateness_p99"
	FactWireLatenessMax = "wire.lateness_max"
)
