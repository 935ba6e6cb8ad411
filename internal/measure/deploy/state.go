package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/machine"
)

// State is what one of the file's hosts showed before the run and at its end.
type State struct {
	// Load is how busy the host was before the run; nil if it does not tell.
	Load *machine.Load `json:"load,omitempty"`
	// Clock is how far its clock was from this machine's before the run, ClockAfter the same at the end of the run; nil
	// if that is not known.
	Clock      *agent.Clock `json:"clock,omitempty"`
	ClockAfter *agent.Clock `json:"clock_after,omitempty"`
}

// clockLimit is how far the clocks of two machines may be apart without a warning, and how far a clock may be set
// during a run. It is far more than synchronised clocks are apart.
const clockLimit = time.Second

// askLimit bounds how long a host may take to say how busy it is or what its clock shows.
const askLimit = 10 * time.Second

// answers asks all hosts at the same time. A host that does not answer has no entry.
func answers[T any](
	ctx context.Context, clients map[string]*agent.Client, ask func(*agent.Client, context.Context) (T, error),
) map[string]T {
	var mu sync.Mutex
	var all sync.WaitGroup
	found := map[string]T{}
	for name, c := range clients {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, askLimit)
			defer cancel()
			answer, err := ask(c, ctx)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[name] = answer
		})
	}
	all.Wait()
	return found
}

// addTo adds the hosts to the record, with what their clocks show now if they were read before.
func (k *fleet) addTo(ctx context.Context, r *Record) {
	if k.clocks != nil {
		k.clocksAfter = answers(ctx, k.clients, (*agent.Client).Clock)
	}
	maps.Copy(r.Machines, k.known())
	maps.Copy(r.States, k.states())
}

// states are the states of the hosts that have been read so far.
func (k *fleet) states() map[string]State {
	states := map[string]State{}
	for name := range k.clients {
		s := State{Load: k.loads[name]}
		if clock, ok := k.clocks[name]; ok {
			s.Clock = &clock
		}
		if clock, ok := k.clocksAfter[name]; ok {
			s.ClockAfter = &clock
		}
		states[name] = s
	}
	return states
}

// resume takes over the loads that an earlier part of the run recorded, as Deployment.Resume does.
func (k *fleet) resume(earlier map[string]State, left int) {
	for name, s := range earlier {
		now := k.loads[name]
		if s.Load != nil && k.clients[name] != nil && (left <= 0 || now == nil || s.Load.Busy > now.Busy) {
			k.loads[name] = s.Load
		}
	}
}

// stateWarnings warns of busy hosts, of clocks that are not right, and of clocks that were set during the run. machines
// are the facts of the hosts: hosts on one machine are named in one warning.
func stateWarnings(states map[string]State, machines map[string]agent.Facts) (warnings []result.Warning) {
	var seen []string
	for _, name := range slices.Sorted(maps.Keys(states)) {
		s := states[name]
		names := []string{name}
		if boot := machines[name].BootID; boot != "" {
			if slices.Contains(seen, boot) {
				continue
			}
			seen = append(seen, boot)
			names = sameMachine(machines, boot)
		}
		on := strings.Join(names, ", ")
		if s.Load != nil && s.Load.Busy >= busyBefore {
			warnings = append(warnings, result.Warning{Code: "machine-busy", Message: on + ": " + busyText(*s.Load)})
		}
		if s.Clock == nil {
			continue
		}
		if far := s.Clock.Offset.Abs(); far-s.Clock.Uncertainty > clockLimit {
			warnings = append(warnings, result.Warning{Code: "clocks-differ", Message: fmt.Sprintf(
				"the clock of %s is %s %s this machine's: times of its trials are by its own clock", on,
				offsetText(*s.Clock), direction(s.Clock.Offset))})
		}
		if s.ClockAfter == nil {
			continue
		}
		moved := agent.Clock{
			Offset:      s.ClockAfter.Offset - s.Clock.Offset,
			Uncertainty: s.ClockAfter.Uncertainty + s.Clock.Uncertainty,
		}
		if moved.Offset.Abs()-moved.Uncertainty > clockLimit {
			way := "forward"
			if moved.Offset < 0 {
				way = "back"
			}
			warnings = append(warnings, result.Warning{Code: "clocks-differ", Message: fmt.Sprintf(
				"the clock of %s or this machine's was set during the run: against this machine's it moved %s by %s",
				on, way, offsetText(moved))})
		}
	}
	return warnings
}

// sameMachine lists the hosts on the machine with a boot id.
func sameMachine(machines map[string]agent.Facts, boot string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		if machines[name].BootID == boot {
			names = append(names, name)
		}
	}
	return names
}

// offsetText is "3.2 s (+-0.4 ms)".
func offsetText(c agent.Clock) string {
	return fmt.Sprintf("%.3g s (+-%.1f ms)", c.Offset.Abs().Seconds(),
		float64(c.Uncertainty)/float64(time.Millisecond))
}

func direction(offset time.Duration) string {
	if offset < 0 {
		return "behind"
	}
	return "ahead of"
}
