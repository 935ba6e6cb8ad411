package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/host/lab"
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

func (s labStage) Watch(arm string, client, server []int) func() host.Ground {
	return s.lab.Watch(arm, client, server)
}

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

// labRecord is what run.json says of the hosts: what the lab is made of, and what crossed each element.
type labRecord struct {
	Lab      lab.Facts                     `json:"lab"`
	Elements map[string][]lab.ElementFacts `json:"elements"`
}

// observeTimeout bounds the reading of an arm's counters.
const observeTimeout = 5 * time.Second

// labFacts reads the lab's facts and counters. What cannot be read is left out: a run is not lost for it.
func labFacts(ctx context.Context, l *lab.Lab) json.RawMessage {
	record := labRecord{Lab: l.Facts(), Elements: map[string][]lab.ElementFacts{}}
	for _, arm := range record.Lab.Arms {
		ctx, cancel := context.WithTimeout(ctx, observeTimeout)
		elements, err := l.Observe(ctx, arm.Arm)
		cancel()
		if err == nil {
			record.Elements[arm.Arm] = elements
		}
	}
	data, err := json.Marshal(record)
	if err != nil {
		return nil
	}
	return data
}

// labWarnings says how precise the wires were, where a process of ours played them.
func labWarnings(hosts json.RawMessage) []answer.Warning {
	var record labRecord
	if len(hosts) == 0 || json.Unmarshal(hosts, &record) != nil {
		return nil
	}
	var warnings []answer.Warning
	for _, arm := range record.Lab.Arms {
		for _, element := range record.Elements[arm.Arm] {
			if w := element.Wire; w != nil && w.Packets > 0 {
				warnings = append(warnings, answer.Warning{Code: "user-space-wire", Arm: arm.Arm, Message: fmt.Sprintf(
					"the kernel has no netem, so a process plays the wire: packets left it %v late at the median, %v at p99, %v at most; every wire adds %v each way",
					w.LatenessP50, w.LatenessP99, w.LatenessMax, w.Base)})
			}
		}
	}
	return warnings
}
