package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/host/lab"
	"nearfar/internal/result"
)

// labRecord is the part "hosts" of run.json: the elements of the lab, the counters of each element, and how busy the
// machine was before the run.
type labRecord struct {
	Lab      lab.Facts                     `json:"lab"`
	Elements map[string][]lab.ElementFacts `json:"elements"`
	Before   *lab.Load                     `json:"before,omitempty"`
}

// observeTimeout bounds the reading of an arm's counters.
const observeTimeout = 5 * time.Second

// labFacts reads the lab's facts and counters. It leaves out what cannot be read, so that a run is not lost because of
// it. Each of several arms that share hosts has an entry with the same facts.
func labFacts(ctx context.Context, e *experiment.Experiment, l *lab.Lab, before *lab.Load) json.RawMessage {
	record := labRecord{Lab: l.Facts(), Elements: map[string][]lab.ElementFacts{}, Before: before}
	for _, arm := range record.Lab.Arms {
		ctx, cancel := context.WithTimeout(ctx, observeTimeout)
		elements, err := l.Observe(ctx, arm.Arm)
		cancel()
		if err == nil {
			record.Elements[arm.Arm] = elements
		}
	}
	for _, arm := range e.Arms {
		owner := e.HostsOf(arm.Name)
		at := slices.IndexFunc(record.Lab.Arms, func(a lab.ArmFacts) bool { return a.Arm == owner })
		if owner == arm.Name || at < 0 {
			continue
		}
		shared := record.Lab.Arms[at]
		shared.Arm, shared.HostsOf = arm.Name, owner
		record.Lab.Arms = append(record.Lab.Arms, shared)
		if elements, ok := record.Elements[owner]; ok {
			record.Elements[arm.Name] = elements
		}
	}
	data, err := json.Marshal(record)
	if err != nil {
		return nil
	}
	return data
}

// labWarnings warns if the machine was busy before the run. For user-space wires it says how precise they were, unless
// the trials record that themselves.
func labWarnings(hosts json.RawMessage, trials []result.Trial) []answer.Warning {
	var record labRecord
	if len(hosts) == 0 || json.Unmarshal(hosts, &record) != nil {
		return nil
	}
	var warnings []answer.Warning
	if record.Before != nil && record.Before.Busy >= busyBefore {
		warnings = append(warnings, answer.Warning{Code: "machine-busy", Message: busyText(*record.Before)})
	}
	if slices.ContainsFunc(trials, func(t result.Trial) bool { return t.Facts[result.FactWireLatenessP99] != "" }) {
		return warnings // internal/answer then compares the lateness with the figures
	}
	users := map[string][]string{}
	for _, arm := range record.Lab.Arms {
		if arm.HostsOf != "" {
			users[arm.HostsOf] = append(users[arm.HostsOf], arm.Arm)
		}
	}
	for _, arm := range record.Lab.Arms {
		if arm.HostsOf != "" {
			continue
		}
		also := ""
		if len(users[arm.Arm]) > 0 {
			also = " (the same wire as in " + strings.Join(users[arm.Arm], ", ") + ")"
		}
		for _, element := range record.Elements[arm.Arm] {
			w := element.Wire
			if w == nil || w.Packets == 0 {
				continue
			}
			message := fmt.Sprintf("the kernel has no netem, so a process simulates the wire: packets left it %v late "+
				"at the median, %v at p99, %v at most; every wire adds %v each way%s",
				w.LatenessP50, w.LatenessP99, w.LatenessMax, w.Base, also)
			warnings = append(warnings, answer.Warning{Code: "user-space-wire", Arm: arm.Arm, Message: message})
		}
	}
	return warnings
}
