package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/host/lab"
	"nearfar/internal/result"
	"nearfar/internal/runner"
)

// labStage lets the runner make its hosts in a lab.
type labStage struct{ lab *lab.Lab }

func (s labStage) Build(ctx context.Context, arm experiment.Arm) (runner.Pair, error) {
	if arm.Lab == nil {
		return runner.Pair{}, errors.New("the file does not say how to make its hosts")
	}
	client, server, err := s.lab.Build(ctx, arm.Name, *arm.Lab)
	return runner.Pair{Client: client, Server: server}, err
}

func (s labStage) CPUs(p experiment.Placement) (client, server []int, err error) {
	return s.lab.CPUs(p)
}

func (s labStage) Stolen(cpus []int) (time.Duration, bool) { return s.lab.Stolen(cpus) }

func (s labStage) CoreToCore(client, server []int) (time.Duration, bool) {
	return s.lab.CoreToCore(client, server)
}

func (s labStage) Watch(arm string, client, server []int) func() host.Contention {
	return s.lab.Watch(arm, client, server)
}

func (s labStage) Lost() error { return s.lab.Lost() }

// wiresOnlyShape says that no wire of the experiment delays or loses.
func wiresOnlyShape(e *experiment.Experiment) bool {
	for _, arm := range e.Arms {
		if arm.Lab == nil {
			continue
		}
		for _, element := range arm.Lab.Path {
			if element.Delay > 0 || element.Loss > 0 {
				return false
			}
		}
	}
	return true
}

// labRecord is what run.json says of the hosts: what the lab is made of, what crossed each element, and how busy the machine was before.
type labRecord struct {
	Lab      lab.Facts                     `json:"lab"`
	Elements map[string][]lab.ElementFacts `json:"elements"`
	Before   *lab.Load                     `json:"before,omitempty"`
}

// observeTimeout bounds the reading of an arm's counters.
const observeTimeout = 5 * time.Second

// labFacts reads the lab's facts and counters. What cannot be read is left out: a run is not lost for it. Arms that share hosts
// are listed each, with the same.
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

// busyBefore is the share of the CPUs' time from which a machine is said to be busy before a run, as internal/answer has it for the
// trials themselves.
const busyBefore = 0.10

// machineLoad looks at how busy the machine is before a run, and says so where it is.
func machineLoad(ctx context.Context, p *progress) *lab.Load {
	load, ok := lab.ReadLoad(ctx)
	if !ok {
		return nil
	}
	if load.Busy >= busyBefore {
		p.step("warning: %s", busyText(load)) // the answer says it too, whatever the mode
	}
	return &load
}

// loadBefore is the load that a resumed run keeps: that of its beginning where nothing is left to measure, else the busier of the two.
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
	text := fmt.Sprintf("before the start other programs used %.0f %% of %d CPUs (load average %.1f", 100*l.Busy, l.CPUs, l.Average)
	if l.Pressure > 0 {
		text += fmt.Sprintf(", some waited for a CPU for %.0f %% of the time", 100*l.Pressure)
	}
	return text + "): expect wider intervals and longer tails"
}

// labWarnings says whether the machine was busy before the run, and, of a run whose trials do not say it themselves, how precise the wires
// were, where a process of ours played them.
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
		return warnings // internal/answer judges them by the figures
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
			if w := element.Wire; w != nil && w.Packets > 0 {
				warnings = append(warnings, answer.Warning{Code: "user-space-wire", Arm: arm.Arm, Message: fmt.Sprintf(
					"the kernel has no netem, so a process plays the wire: packets left it %v late at the median, %v at p99, %v at most; every wire adds %v each way%s",
					w.LatenessP50, w.LatenessP99, w.LatenessMax, w.Base, also)})
			}
		}
	}
	return warnings
}
