package cli

import (
	"strings"
	"testing"

	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/onhost/hostverbs"
)

// TestUnknownCongestionIsRefused: a lab is refused before it is made if this kernel lacks a congestion control. Other
// hosts have kernels of their own.
func TestUnknownCongestionIsRefused(t *testing.T) {
	text := `nearfar: v1
name: x
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [bridge]}, set: {congestion: bbr3}}
workloads:
  - {name: bulk, tool: native, mode: stream, duration: 1s, congestion: reno}
`
	e, err := parseExperiment("x.yaml", []byte(text), experimentfile.Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	err = refuseCongestion(e, func(name string) bool { return name == "reno" })
	if err == nil || !strings.Contains(err.Error(), "congestion bbr3 (arm b, workload bulk)") ||
		strings.Contains(err.Error(), "reno (") {
		t.Errorf("%v", err)
	}
	if err := refuseCongestion(e, func(string) bool { return true }); err != nil {
		t.Error(err)
	}
	e.Arms[1].Lab = nil
	if err := refuseCongestion(e, func(name string) bool { return name == "reno" }); err != nil {
		t.Errorf("of another machine: %v", err)
	}
	if hostverbs.HasCongestion("no-such-control") && hostverbs.HasCongestion("reno") != hostverbs.HasCongestion("no-such-control") {
		t.Error("a control that no kernel has is there")
	}
}
