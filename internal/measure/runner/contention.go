package runner

import (
	"maps"
	"strconv"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// observationFacts writes into a trial's facts what its machines show.
func observationFacts(o host.Observation, facts map[string]string) {
	if o.StolenKnown {
		facts[result.FactStolen] = strconv.FormatFloat(o.Stolen, 'f', 4, 64)
	}
	if o.CoreToCoreBefore > 0 && o.CoreToCoreAfter > 0 {
		facts[result.FactCoreToCoreBefore] = o.CoreToCoreBefore.String()
		facts[result.FactCoreToCoreAfter] = o.CoreToCoreAfter.String()
	}
	maps.Copy(facts, o.Facts)
	contentionFacts(o.Contention, facts)
}

// contentionFacts writes into a trial's facts which other programs used its CPUs. If the host does not know how long a
// side waited for a CPU, the value that the tool itself reports (result.FactRunDelay) is used.
func contentionFacts(c host.Contention, facts map[string]string) {
	if c.Window <= 0 {
		return
	}
	set := func(name string, share float64) { facts[name] = strconv.FormatFloat(share, 'f', 4, 64) }
	sides := map[string]*host.ContentionSide{result.FactRunDelay: &c.Client, result.FactServerRunDelay: &c.Server}
	for fact, side := range sides {
		if own, err := time.ParseDuration(facts[fact]); err == nil && own >= 0 && !side.DelayKnown {
			side.Delay, side.DelayKnown = own, true
		}
		if side.DelayKnown {
			facts[fact] = rounded(side.Delay)
		}
	}
	if waited, ran, ok := waitedForOthers(c); ok && waited+ran > 0 {
		set(result.FactWaited, float64(waited)/float64(waited+ran))
	}
	if others, ok := c.Others(); ok {
		set(result.FactOthers, float64(others)/float64(c.Window)/float64(c.CPUs))
	}
	if c.MachineKnown {
		set(result.FactMachineOthers, float64(c.MachineOthers)/float64(c.Window)/float64(c.MachineCPUs))
	}
	set(result.FactSoftirq, float64(c.Softirq)/float64(c.Window)/float64(c.CPUs))
	if c.Pressure != nil {
		set(result.FactPressure, float64(*c.Pressure)/float64(c.Window))
	}
	if c.CgroupPressure != nil {
		set(result.FactCgroupPressure, float64(*c.CgroupPressure)/float64(c.Window))
	}
	if c.FrequencyBefore > 0 && c.FrequencyAfter > 0 {
		facts[result.FactFrequencyBefore] = strconv.Itoa(c.FrequencyBefore)
		facts[result.FactFrequencyAfter] = strconv.Itoa(c.FrequencyAfter)
	}
	if w := c.Wire; w != nil {
		facts[result.FactWirePackets] = strconv.FormatUint(w.Packets, 10)
		facts[result.FactWireLatenessP50] = w.LatenessP50.String()
		facts[result.FactWireLatenessP99] = w.LatenessP99.String()
		facts[result.FactWireLatenessMax] = w.LatenessMax.String()
		facts[result.FactWireRunDelay] = rounded(w.Delay)
	}
}

// waitedForOthers estimates how long the trial's processes waited for a CPU while other programs had it (waited), and
// gives how long they ran. ok is false if too little is known.
//
// waited is the smallest of three upper bounds:
//   - the run delay of the trial's processes. It includes waiting for each other, which two processes on one CPU do by
//     design;
//   - the CPU time of other programs on the trial's CPUs. It includes the time in which the trial's processes slept;
//   - the client's lifetime on those CPUs less the run time of the trial's processes: while one of them runs on a CPU,
//     none waits for others there.
//
// Sides with CPUs of their own are estimated separately and added.
func waitedForOthers(c host.Contention) (waited, ran time.Duration, ok bool) {
	ran = c.Client.Ran + c.Server.Ran
	if c.Shared {
		known := c.Client.DelayKnown && c.Server.DelayKnown
		if !known && (!c.Client.Pinned || !c.Server.Pinned) || !c.Client.OthersKnown {
			return 0, 0, false // unpinned processes can move to another CPU instead of waiting
		}
		waited = min(c.Client.Others, left(c.Client.Lived, c.CPUs, ran))
		if known {
			waited = min(waited, c.Client.Delay+c.Server.Delay)
		}
		return waited, ran, true
	}
	for _, side := range []host.ContentionSide{c.Client, c.Server} {
		if !side.OthersKnown {
			return 0, 0, false
		}
		bound := min(side.Others, left(c.Client.Lived, side.CPUs, side.Ran))
		if side.DelayKnown {
			bound = min(bound, side.Delay)
		}
		waited += bound
	}
	return waited, ran, true
}

// left is the CPU time that remains of a lifetime on some CPUs after processes have run there.
func left(lived time.Duration, cpus int, ran time.Duration) time.Duration {
	return max(0, time.Duration(cpus)*lived-ran)
}

func rounded(d time.Duration) string { return d.Round(time.Microsecond).String() }
