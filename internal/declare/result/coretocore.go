package result

import "time"

// Facts that a runner records if client and server each have a CPU of the same machine: the core-to-core latency
// right before and right after the trial. It is the round-trip time of a cache line between the two CPUs, a duration
// such as "91ns".
const (
	FactCoreToCoreBefore = "core_to_core.before"
	FactCoreToCoreAfter  = "core_to_core.after"
)

// slowFactor: a core-to-core latency of at least this many times the shortest one counts as slow.
const slowFactor = 2

// CoreToCore summarizes the core-to-core latency of several trials.
type CoreToCore struct {
	// Shortest and Longest are the extremes over all trials.
	Shortest, Longest time.Duration
	// Known is how many trials have both facts. Slow is how many of these had at least twice the Shortest latency,
	// before or after.
	Known, Slow int
}

// CoreToCoreOf reads the facts. A trial that lacks one of them, or has an impossible one, does not count.
func CoreToCoreOf(trials []Trial) (c CoreToCore) {
	var longer []time.Duration // the longer of the two, of each trial
	for _, t := range trials {
		before, after := t.coreToCore(FactCoreToCoreBefore), t.coreToCore(FactCoreToCoreAfter)
		if before == 0 || after == 0 {
			continue
		}
		if len(longer) == 0 {
			c.Shortest = before
		}
		longer = append(longer, max(before, after))
		c.Shortest, c.Longest = min(c.Shortest, before, after), max(c.Longest, before, after)
	}
	c.Known = len(longer)
	for _, trip := range longer {
		if trip >= slowFactor*c.Shortest {
			c.Slow++
		}
	}
	return c
}

// coreToCore reads one of the facts; 0 if it is missing or impossible. A cache line takes a nanosecond to a
// millisecond.
func (t *Trial) coreToCore(name string) time.Duration {
	trip, err := time.ParseDuration(t.Facts[name])
	if err != nil || trip < time.Nanosecond || trip > time.Millisecond {
		return 0
	}
	return trip
}
