package environment

import (
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// TestLimits: a warning for each arm and workload with a trial that shows a limiter.
func TestLimits(t *testing.T) {
	grew := func(n uint64) *check.Counters {
		return &check.Counters{Devices: []check.DeviceCounters{{
			Name: "eth0", Own: map[string]uint64{"bw_out_allowance_exceeded": n, "vf_tx_bytes": 7},
		}}}
	}
	in := Run{Experiment: &experiment.Experiment{
		Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}}, Workloads: []experiment.Workload{{Name: "w"}},
	}}
	add := func(arm string, client, server *check.Counters, failed string) {
		in.Trials = append(in.Trials, result.Trial{
			Trial: len(in.Trials) + 1, Arm: arm, Workload: "w", Error: failed,
			Counters: &result.Sides[check.Counters]{Client: client, Server: server},
		})
	}
	add("a", grew(0), nil, "")
	add("a", grew(3), grew(1), "")
	add("b", grew(0), grew(0), "")
	add("b", grew(9), nil, "it broke")
	in.Trials = append(in.Trials, result.Trial{Trial: 5, Arm: "b", Workload: "w"})
	in.Good = func(arm, _ string) (good []*result.Trial) {
		for i, t := range in.Trials {
			if t.Arm == arm && t.Error == "" {
				good = append(good, &in.Trials[i])
			}
		}
		return good
	}
	got := limits(in)
	if len(got) != 1 || got[0].Code != "allowance-exceeded" || got[0].Arm != "a" || got[0].Workload != "w" {
		t.Fatalf("%+v", got)
	}
	for _, part := range []string{"in 1 of 2 trials", "trial 2", "client eth0 bw_out_allowance_exceeded",
		"server eth0 bw_out_allowance_exceeded"} {
		if !strings.Contains(got[0].Message, part) {
			t.Errorf("%q lacks %q", got[0].Message, part)
		}
	}
}
