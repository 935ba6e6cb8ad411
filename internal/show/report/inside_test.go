package report

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/inside"
	recorded "nearfar/internal/declare/inside"
)

// watched is an answer whose workload was watched in two arms.
func watched() answer.Answer {
	a := sample()
	measure := func(us float64) *inside.Measure {
		return &inside.Measure{Median: us * 1e-6, Interval: &[2]float64{us*1e-6 - 1e-7, us*1e-6 + 1e-7}, Trials: 12}
	}
	step := func(kind recorded.Kind, place, device string) recorded.Step {
		return recorded.Step{Way: recorded.Request, Kind: kind, Place: place, Device: device, DeviceKind: device}
	}
	forward := step(recorded.Forward, "router", "")
	p99 := 9e-6
	arm := func(name string, elements ...inside.Element) inside.Arm {
		return inside.Arm{
			Arm: name, Trials: 12, Reported: measure(10), Ratio: &inside.Measure{Median: 0.981}, Plain: measure(9),
			Cost: measure(1.1), Machines: []inside.Machine{{
				Side: recorded.Both, Trials: 12, Share: 0.975, Paths: 2, Sampled: 24_000, Complete: 23_990, Lost: 3,
				Events: 480_000, Elements: elements, Sum: measure(9.8), Slow: 240,
				Causes: []inside.Cause{{Cause: recorded.CauseCPU, Trips: 180, Share: 0.75},
					{Cause: recorded.CauseUnknown, Trips: 60, Share: 0.25}},
				Slowest: []inside.Slowest{{Trial: 7, Took: 812e-6, Cause: recorded.CauseCPU, At: &forward, Excess: 800e-6}},
			}},
		}
	}
	send := inside.Element{Step: step(recorded.Send, "client", "veth"), Measure: *measure(2), P99: &p99}
	a.Inside = []inside.Inside{{
		Workload: "rr", Watched: "rr-inside", Quantity: "rtt p50",
		Arms: []inside.Arm{arm("l2", send), arm("router", send, inside.Element{Step: forward, Measure: *measure(2.5)})},
		Against: []inside.Against{{
			Arm: "router", Baseline: "l2", Sum: measure(2.6), Own: measure(2.5), Subtracted: measure(2.7),
			Layers: []string{"router"}, Elements: []inside.Change{
				{Step: forward, Side: recorded.Both, Measure: *measure(2.5), Only: inside.OnlyArm, Own: true},
				{Step: send.Step, Side: recorded.Both, Measure: *measure(0.05)},
			},
		}},
	}}
	return a
}

func TestTheInsideOfThePathIsSaid(t *testing.T) {
	a := watched()
	for format, wants := range map[string][]string{
		"terminal": {
			"Inside the path\n", "rr in l2, 12 trials\n", "request  send veth in client", "2.00", "[1.90, 2.10]", "9.00",
			"both     sum", "rr: where router differs from l2\n", "forward in router", "+2.50", "only in router",
			"sum of router", "by subtraction", "not watched",
			"rr in l2: watching adds +1.10 us [+1.00, +1.20] to the rtt p50 of 10.00 us",
			"the elements sum to 98.1 % of", "23990 of 24000 round trips were seen whole, 3 lost, 480000 events",
			"97.5 % of them took this", "the slowest 240, over all trials: cpu 75 % (180), unknown 25 % (60)",
			"812.0 us in trial 7: cpu, forward in router (request) longer by 800.0 us",
		},
		"markdown": {"## Inside the path\n", "| request | forward in router | 2.50 | \\[2.40, 2.60\\] | - |"},
		"json":     {`"inside": [`, `"watched": "rr-inside"`, `"device_kind": "veth"`},
	} {
		text := written(t, a, Options{Format: format, Width: 120})
		flat := strings.Join(strings.Fields(text), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) && !strings.Contains(flat, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: %q is missing in\n%s", format, want, text)
			}
		}
	}
}

// Layers are said by both methods, if there are several.
func TestLayersInsideAreSaidByBothMethods(t *testing.T) {
	a := watched()
	own, other := a.Inside[0].Against[0].Own, a.Inside[0].Against[0].Subtracted
	a.Inside[0].Layers = []inside.Layer{
		{Layer: "router", Arm: "routed", Other: "switched", Count: 1, Own: own, Subtracted: other, Attributed: own},
	}
	const title = "rr: each layer by both methods"
	if text := written(t, a, Options{Format: "terminal"}); strings.Contains(text, title) {
		t.Errorf("one layer is said twice:\n%s", text)
	}
	a.Inside[0].Layers = append(a.Inside[0].Layers, inside.Layer{
		Layer: "vtep", Arm: "vxlan", Other: "routed", Count: 2, Own: own, Corrected: other, Subtracted: other,
	})
	text := strings.Join(strings.Fields(written(t, a, Options{Format: "terminal", Width: 120})), " ")
	for _, want := range []string{
		title, "router its elements +2.50 [+2.40, +2.60] routed less switched by subtraction +2.70",
		"over all arms +2.50", "2 vtep its elements", "vxlan less routed without recording +2.70",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// Two machines are told apart, with the time between them.
func TestTwoMachinesInsideAreToldApart(t *testing.T) {
	a := watched()
	arm := &a.Inside[0].Arms[0]
	arm.Machines = append(arm.Machines, arm.Machines[0])
	arm.Machines[0].Side, arm.Machines[1].Side = recorded.Client, recorded.Server
	arm.Between = &inside.Measure{Median: 50e-6}
	text := strings.Join(strings.Fields(written(t, a, Options{Format: "terminal"})), " ")
	for _, want := range []string{
		"rr in l2 on the client's machine, by its clock, 12 trials", "rr in l2 on the server's machine, by its clock",
		"between the machines 50.00 us, both directions together",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestTheInsideAloneIsWritten(t *testing.T) {
	a := watched()
	a.Warnings = append(a.Warnings, answer.Warning{Code: "inside-unknown", Arm: "l2", Workload: "rr", Message: "no right"},
		answer.Warning{Code: "other", Message: "elsewhere"})
	a.Inside[0].Arms[0].Machines = nil
	var b strings.Builder
	if err := WriteInside(&b, a, Options{Format: "terminal"}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, "rr in l2: unknown") || !strings.Contains(text, "no right") ||
		strings.Contains(text, "elsewhere") || strings.Contains(text, "Arms: median") {
		t.Errorf("got\n%s", text)
	}
	b.Reset()
	if err := WriteInside(&b, a, Options{Format: "json"}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, `"watched": "rr-inside"`) || strings.Contains(text, "comparisons") {
		t.Errorf("got\n%s", text)
	}
}
