package deploy

import (
	"context"
	"encoding/json"
	"fmt"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/machine"
)

// busyBefore is the share of CPU time in use from which nearfar warns that a machine is busy before a run.
// internal/conclude/answer uses the same share for the time of the trials.
const busyBefore = 0.10

// readLoad reads how busy the machine is, and warns if it is busy. It returns nil if that is not known.
func readLoad(ctx context.Context, step func(string, ...any)) *machine.Load {
	load, ok := machine.ReadLoad(ctx)
	if !ok {
		return nil
	}
	if load.Busy >= busyBefore {
		step("warning: %s", busyText(load)) // the answer has the warning too, in every mode of progress
	}
	return &load
}

// Resume takes over what an earlier part of the run recorded in hosts: the facts of earlier deployments, and the load,
// if no trials are left or if the machine was busier then.
func (d *Deployment) Resume(hosts json.RawMessage, left int) {
	var record Record
	if len(hosts) == 0 || json.Unmarshal(hosts, &record) != nil {
		return
	}
	d.facts = keptFacts{record.Facts, record.FactsLeftOut}
	d.machines = record.Deployments
	for _, k := range d.kinds {
		switch k := k.(type) {
		case *given:
			k.resume(record.States, left)
		case *pods:
			k.resume(record.States, left)
		}
	}
	if record.Before == nil {
		return
	}
	if left <= 0 || d.load == nil || record.Before.Busy > d.load.Busy {
		d.load = record.Before
	}
}

func busyText(l machine.Load) string {
	text := fmt.Sprintf("before the start other programs used %s %% of %d CPUs (load average %s",
		result.Decimal(100*l.Busy, 0), l.CPUs, result.Decimal(l.Average, 1))
	if l.Pressure > 0 {
		text += fmt.Sprintf(", some waited for a CPU for %s %% of the time", result.Decimal(100*l.Pressure, 0))
	}
	return text + "): expect wider intervals and longer tails"
}
