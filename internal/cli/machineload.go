package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"nearfar/internal/host/lab"
)

// busyBefore is the share of CPU time in use from which nearfar warns that a machine is busy before a run.
// internal/answer uses the same share for the time of the trials.
const busyBefore = 0.10

// machineLoad reads how busy the machine is before a run, and warns if it is busy. It returns nil if that is unknown.
func machineLoad(ctx context.Context, p *progress) *lab.Load {
	load, ok := lab.ReadLoad(ctx)
	if !ok {
		return nil
	}
	if load.Busy >= busyBefore {
		p.step("warning: %s", busyText(load)) // the answer has the warning too, in every mode of progress
	}
	return &load
}

// loadBefore returns the load to record for a resumed run: the load before its first part if no trials are left, else
// the greater of that load and the current one.
func loadBefore(hosts json.RawMessage, now *lab.Load, left int) *lab.Load {
	var record labRecord
	if len(hosts) == 0 || json.Unmarshal(hosts, &record) != nil || record.Before == nil {
		return now
	}
	if left <= 0 || now == nil || record.Before.Busy > now.Busy {
		return record.Before
	}
	return now
}

func busyText(l lab.Load) string {
	text := fmt.Sprintf("before the start other programs used %.0f %% of %d CPUs (load average %.1f",
		100*l.Busy, l.CPUs, l.Average)
	if l.Pressure > 0 {
		text += fmt.Sprintf(", some waited for a CPU for %.0f %% of the time", 100*l.Pressure)
	}
	return text + "): expect wider intervals and longer tails"
}
