package result

import "time"

// The facts of a trial in which client and server have a CPU each of one machine, that a runner records itself: how long a cache line
// took from the one to the other and back, right before and right after (a duration, such as "91ns").
const (
	FactCoreToCoreBefore = "core_to_core.before"
	FactCoreToCoreAfter  = "core_to_core.after"
)

// farApart is how many times as long as at best a cache line takes between CPUs that count as far apart.
const farApart = 2

// CoreToCore is what those facts say of several trials.
type CoreToCore struct {
	// Nearest and Farthest are the shortest and the longest time.
	Nearest, Farthest time.Duration
	// Known is how many trials say how far apart their CPUs were; Far is in how many of these it was twice as far as Nearest or
	// more, before or after.
	Known, Far int
}

// CoreToCoreOf reads the facts. A trial that does not have both, or whose are beyond what can be, does not count.
func CoreToCoreOf(trials []Trial) (c CoreToCore) {
	var longer []time.Duration // of the two of each trial
	for _, t := range trials {
		before, after := t.coreToCore(FactCoreToCoreBefore), t.coreToCore(FactCoreToCoreAfter)
		if before == 0 || after == 0 {
			continue
		}
		if len(longer) == 0 {
			c.Nearest = before
		}
		longer = append(longer, max(before, after))
		c.Nearest, c.Farthest = min(c.Nearest, before, after), max(c.Farthest, before, after)
	}
	c.Known = len(longer)
	for _, trip := range longer {
		if trip >= farApart*c.Nearest {
			c.Far++
		}
	}
	return c
}

// coreToCore reads one of the facts; 0 where there is none that can be: a cache line takes a nanosecond to a millisecond.
func (t *Trial) coreToCore(name string) time.Duration {
	trip, err := time.ParseDuration(t.Facts[name])
	if err != nil || trip < time.Nanosecond || trip > time.Millisecond {
		return 0
	}
	return trip
}
