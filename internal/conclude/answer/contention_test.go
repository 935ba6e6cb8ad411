package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// warned finds a warning by its code.
func warned(a Answer, code string) *Warning {
	for i := range a.Warnings {
		if a.Warnings[i].Code == code {
			return &a.Warnings[i]
		}
	}
	return nil
}

// answerWith makes the answer of a run in which all trials have these facts.
func answerWith(e *experiment.Experiment, facts map[string]string) Answer {
	trials := model(e, perLayer, 5e-8)
	for i := range trials {
		trials[i].Trial = i + 1
		trials[i].Facts = facts
	}
	return Make(Input{Experiment: e, Trials: trials, State: "complete"})
}

// TestContentionWarning: warnings of trials that waited for CPUs used by others, and of a machine that others kept
// busy. For times a smaller share is enough, but only if others really used the CPUs: a few clock ticks on a quiet
// machine are not contention.
func TestContentionWarning(t *testing.T) {
	facts := func(waited, others, machine string) map[string]string {
		return map[string]string{result.FactWaited: waited, result.FactOthers: others,
			result.FactMachineOthers: machine}
	}
	for name, c := range map[string]struct {
		facts           map[string]string
		contended, busy string
	}{
		"quiet":             {facts("0.0040", "0.0090", "0.0100"), "", ""},
		"waits, few others": {facts("0.0150", "0.0200", "0.0200"), "", ""},
		"two at 40 %":       {facts("0.0150", "0.3000", "0.4000"), "1.5 %", "40 %"},
		"elsewhere":         {facts("0.0020", "0.0200", "0.2100"), "", "21 %"},
		"much":              {facts("0.3500", "0.4000", ""), "35.0 %", ""},
		"unknown":           {facts("", "", ""), "", ""},
		"nonsense":          {facts("NaN", "1e300", "-1"), "", ""},
	} {
		a := answerWith(overlay(12), c.facts)
		for code, want := range map[string]string{"cpu-contended": c.contended, "machine-busy": c.busy} {
			w := warned(a, code)
			if (w != nil) != (want != "") || w != nil && !strings.Contains(w.Message, want) {
				t.Errorf("%s: %s: %+v, want %q", name, code, w, want)
			}
		}
	}
}

// rated is a run of a stream over wires with a rate. All trials but the first carried the same.
func rated(element experiment.Element, w experiment.Workload, carried, first float64, facts map[string]string) Answer {
	w.Name, w.Tool, w.Mode = "bulk", "native", experiment.Stream
	e := &experiment.Experiment{
		Name: "wires", Baseline: "a", Workloads: []experiment.Workload{w},
		Schedule: experiment.Schedule{Blocks: 10, Seed: 1},
		Arms:     []experiment.Arm{{Name: "a", Lab: &experiment.Lab{MTU: 1500, Path: []experiment.Element{element}}}},
	}
	var trials []result.Trial
	for block := 1; block <= 10; block++ {
		v := carried + float64(block)
		if block == 1 {
			v = first
		}
		trials = append(trials, result.Trial{Trial: block, Block: block, Arm: "a", Workload: "bulk",
			Tool: result.ToolVersion{Name: "native"}, Mode: w.Mode,
			Definition: result.DefinitionRate, Facts: facts,
			Metrics: []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: v}}})
	}
	return Make(Input{Experiment: e, Trials: trials, State: "complete"})
}

// TestWireBelowRate: 200 Mbit/s allow 191 Mbit/s of TCP over IPv4 (1448 of 1514 bytes). A clearly lower rate gives a
// warning, unless the declaration explains it.
func TestWireBelowRate(t *testing.T) {
	wire := experiment.Element{Kind: experiment.Wire, Rate: 200e6}
	tcp := experiment.Workload{Protocol: experiment.TCP, IP: 4}
	for name, c := range map[string]struct {
		element        experiment.Element
		workload       experiment.Workload
		carried, first float64
		want           string
	}{
		"as it should": {wire, tcp, 190e6, 190e6, ""},
		"a busy machine": {wire, tcp, 120e6, 50e6, "10 of 10 trials carried clearly less than a wire of 200.0 " +
			"Mbit/s allows, which is 191.3 Mbit/s without headers: the least 50.00 Mbit/s"},
		"one trial": {wire, tcp, 190e6, 50e6, "1 of 10 trials"},
		"both ways": {wire, experiment.Workload{Protocol: experiment.TCP, IP: 4, Direction: experiment.Both},
			190e6, 190e6, "382.6 Mbit/s without"},
		"no rate": {experiment.Element{Kind: experiment.Wire}, tcp, 1e6, 1e6, ""},
		"a loss":  {experiment.Element{Kind: experiment.Wire, Rate: 200e6, Loss: 0.01}, tcp, 20e6, 20e6, ""},
		"a long path": {experiment.Element{Kind: experiment.Wire, Rate: 200e6, Delay: 20 * time.Millisecond},
			tcp, 120e6, 120e6, ""},
		"a small window": {wire, experiment.Workload{Protocol: experiment.TCP, IP: 4,
			Socket: experiment.Socket{SendBuffer: 8192}}, 50e6, 50e6, ""},
		"UDP at a rate": {wire, experiment.Workload{Protocol: experiment.UDP, IP: 4, Rate: 20e6}, 20e6, 20e6, ""},
		"beside background": {wire, experiment.Workload{Protocol: experiment.TCP, IP: 4,
			Background: &experiment.Workload{}}, 20e6, 20e6, ""},
	} {
		a := rated(c.element, c.workload, c.carried, c.first, map[string]string{result.FactWireLatenessP99: "2.1ms"})
		w := warned(a, "wire-below-rate")
		if cautious := a.Arms[0].Caution; (cautious != "") != (c.want != "") {
			t.Errorf("%s: beside the figure stands %q", name, cautious)
		}
		if (w != nil) != (c.want != "") || w != nil &&
			(!strings.Contains(w.Message, c.want) || !strings.Contains(w.Message, "2.10 ms") || w.Arm != "a") {
			t.Errorf("%s: %+v, want %q", name, w, c.want)
		}
	}
}

// TestLateWireWarnsOfTheFigure: the warning is about each figure that includes the lateness, not about an arm as a
// whole.
func TestLateWireWarnsOfTheFigure(t *testing.T) {
	e := overlay(12)
	late := func(p50, p99 time.Duration) (said []string) {
		a := answerWith(e, map[string]string{result.FactWireLatenessP50: p50.String(),
			result.FactWireLatenessP99: p99.String()})
		for _, w := range a.Warnings {
			if w.Code == "user-space-wire" {
				said = append(said, fmt.Sprint(w.Arm, " ", w.Workload, ": ", w.Message))
			}
		}
		return said
	}
	if said := late(100*time.Nanosecond, 200*time.Nanosecond); len(said) != 0 {
		t.Errorf("a wire in time: %v", said)
	}
	said := late(5*time.Microsecond, 6*time.Microsecond)
	if len(said) == 0 || !strings.Contains(said[0], "rtt p50 of") ||
		!strings.Contains(said[0], "more than 5.00 us late (median over 12 trials)") {
		t.Errorf("%v", said)
	}
}
