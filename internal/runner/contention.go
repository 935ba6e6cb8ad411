package runner

import (
	"strconv"
	"time"

	"nearfar/internal/host"
	"nearfar/internal/result"
)

// groundFacts writes what was seen of the machine during a trial into its facts. A tool that says itself how long it waited
// (result.FactRunDelay) is believed where the host does not know.
func groundFacts(g host.Ground, facts map[string]string) {
	if g.Window <= 0 {
		return
	}
	set := func(name string, share float64) { facts[name] = strconv.FormatFloat(share, 'f', 4, 64) }
	for fact, side := range map[string]*host.GroundSide{result.FactRunDelay: &g.Client, result.FactServerRunDelay: &g.Server} {
		if own, err := time.ParseDuration(facts[fact]); err == nil && own >= 0 && !side.DelayKnown {
			side.Delay, side.DelayKnown = own, true
		}
	}
	if g.Client.DelayKnown {
		facts[result.FactRunDelay] = rounded(g.Client.Delay)
	}
	if g.Server.DelayKnown {
		facts[result.FactServerRunDelay] = rounded(g.Server.Delay)
	}
	if waited, ran, ok := waitedForOthers(g); ok && waited+ran > 0 {
		set(result.FactWaited, float64(waited)/float64(waited+ran))
	}
	if others, ok := g.Others(); ok {
		set(result.FactOthers, float64(others)/float64(g.Window)/float64(g.CPUs))
	}
	if g.MachineKnown {
		set(result.FactMachineOthers, float64(g.MachineOthers)/float64(g.Window)/float64(g.MachineCPUs))
	}
	set(result.FactSoftirq, float64(g.Softirq)/float64(g.Window)/float64(g.CPUs))
	if g.Pressure != nil {
		set(result.FactPressure, float64(*g.Pressure)/float64(g.Window))
	}
	if g.CgroupPressure != nil {
		set(result.FactCgroupPressure, float64(*g.CgroupPressure)/float64(g.Window))
	}
	if g.FrequencyBefore > 0 && g.FrequencyAfter > 0 {
		facts[result.FactFrequencyBefore] = strconv.Itoa(g.FrequencyBefore)
		facts[result.FactFrequencyAfter] = strconv.Itoa(g.FrequencyAfter)
	}
	if w := g.Wire; w != nil {
		facts[result.FactWirePackets] = strconv.FormatUint(w.Packets, 10)
		facts[result.FactWireLatenessP50] = w.LatenessP50.String()
		facts[result.FactWireLatenessP99] = w.LatenessP99.String()
		facts[result.FactWireLatenessMax] = w.LatenessMax.String()
		facts[result.FactWireRunDelay] = rounded(w.Delay)
	}
}

// waitedForOthers gives how long the trial's processes waited for a CPU while other programs had it, and how long they ran.
//
// It is the smallest of three bounds. The time that they waited has their waiting for each other too: two that share a CPU do so on
// purpose. The time that others had the CPUs has what these did while the trial's processes slept, or were not there. And while one
// of them ran on a CPU, none waited for others there: so it is not more than what their run time leaves of the client's life. Sides
// with CPUs of their own are reckoned apart.
func waitedForOthers(g host.Ground) (waited, ran time.Duration, ok bool) {
	ran = g.Client.Ran + g.Server.Ran
	if g.Shared {
		known := g.Client.DelayKnown && g.Server.DelayKnown
		if !known && (!g.Client.Pinned || !g.Server.Pinned) || !g.Client.OthersKnown {
			return 0, 0, false // with any CPU to run on, they need not have waited for what others ran
		}
		waited = min(g.Client.Others, left(g.Client.Lived, g.CPUs, ran))
		if known {
			waited = min(waited, g.Client.Delay+g.Server.Delay)
		}
		return waited, ran, true
	}
	for _, side := range []host.GroundSide{g.Client, g.Server} {
		if !side.OthersKnown {
			return 0, 0, false
		}
		bound := min(side.Others, left(g.Client.Lived, side.CPUs, side.Ran))
		if side.DelayKnown {
			bound = min(bound, side.Delay)
		}
		waited += bound
	}
	return waited, ran, true
}

// left is what processes that ran so long leave of so many CPUs.
func left(lived time.Duration, cpus int, ran time.Duration) time.Duration {
	return max(0, time.Duration(cpus)*lived-ran)
}

func rounded(d time.Duration) string { return d.Round(time.Microsecond).String() }
