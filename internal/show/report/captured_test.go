package report

import (
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/captured"
	"nearfar/internal/conclude/answer/inside"
	"nearfar/internal/declare/packets"
)

func TestCapturesAreSaid(t *testing.T) {
	a := sample()
	measure := func(us float64) *inside.Measure {
		return &inside.Measure{Median: us * 1e-6, Interval: &[2]float64{us*1e-6 - 1e-7, us*1e-6 + 1e-7}, Trials: 12}
	}
	a.Captured = []captured.Captured{{
		Workload: "rr", Captured: "rr-capture", Quantity: "rtt p50", Arms: []captured.Arm{
			{Arm: "l2", Trials: 12, Reported: measure(10), Plain: measure(9), Cost: measure(1.1), Machines: []captured.Machine{{
				Side: packets.Both, Files: make([]string, 12),
				Points: []captured.Point{{Name: "client.eth0", Packets: 49152, Dropped: 7}, {Name: "client.vx0", Untimed: 5}},
			}}},
			{Arm: "ssh", Trials: 12, Machines: []captured.Machine{{Side: packets.Server, Files: make([]string, 1)}}},
			{Arm: "router", Trials: 12, Machines: []captured.Machine{}},
		},
	}}
	for format, wants := range map[string][]string{
		"terminal": {
			"Captures\n", "rr in l2, 12 captures", "client.eth0 49152 7", "nearfar import --point",
			"rr in l2: capturing adds +1.10 us [+1.00, +1.20] to the rtt p50 of 10.00 us that is captured",
			"rr in l2: 5 packets that came in by client.vx0 are left out there: the kernel stamped them at the device below",
			"rr in ssh on the server's machine, 1 capture", "rr in ssh: what capturing adds is not known",
			"rr in router: unknown; see the warnings",
		},
		"markdown": {"## Captures\n", "| client.eth0 | 49152 | 7 |"},
		"json":     {`"captured": "rr-capture"`, `"dropped": 7`},
	} {
		text := written(t, a, Options{Format: format, Width: 120})
		flat := strings.Join(strings.Fields(text), " ")
		for _, want := range wants {
			if !strings.Contains(text, want) && !strings.Contains(flat, want) {
				t.Errorf("%s: %q is missing in\n%s", format, want, text)
			}
		}
	}
}
