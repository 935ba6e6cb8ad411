package check

import "testing"

// TestPingShowsNoAcceleration: ICMP takes the synthetic path of a host whose virtual function works.
func TestPingShowsNoAcceleration(t *testing.T) {
	for machine, want := range map[string]Outcome{"azure-mlx5": Unknown, "azure-no-vf": Refuted} {
		trial := rr(t, machine, func(h *host) { h.count("eth0", 10010, 166) })
		trial.Protocol = "icmp"
		for _, name := range []string{ExpectAccelerated, ExpectDriver} {
			e := Expectation{Name: name, Value: true}
			if name == ExpectDriver {
				e.Value = "mlx5_core"
			}
			if j := Judge(e, trial); j.Outcome != want {
				t.Errorf("%s on %s: %+v", name, machine, j)
			}
		}
	}
}
