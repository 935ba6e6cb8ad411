package recordings

import (
	"fmt"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

func TestWorkloadName(t *testing.T) {
	trialOf := func(tool, mode, protocol string) result.Trial {
		return result.Trial{Tool: result.ToolVersion{Name: tool}, Mode: mode, Protocol: protocol}
	}
	withBytes := func(t result.Trial, n int) result.Trial {
		t.MessageBytes = &n
		return t
	}
	withStreams := func(t result.Trial, n int) result.Trial {
		for i := range n {
			scope := fmt.Sprint("stream ", i)
			t.Metrics = append(t.Metrics, result.Metric{Name: result.Goodput, Scope: scope})
			t.Metrics = append(t.Metrics, result.Metric{Name: result.Retransmits, Scope: scope})
		}
		return t
	}
	withConnections := func(t result.Trial, n string) result.Trial {
		t.Facts = map[string]string{"connections": n}
		return t
	}
	withSetting := func(mode, setting string) result.Trial {
		t := trialOf("k8s-netperf", mode, "tcp")
		t.Facts = map[string]string{result.FactSetting: setting}
		return t
	}
	stream := trialOf("iperf3", "stream", "tcp")
	for want, trial := range map[string]result.Trial{
		"sockperf-rr-tcp-1400B":              withBytes(trialOf("sockperf", "rr", "tcp"), 1400),
		"ping-icmp-56B":                      withBytes(trialOf("ping", "ping", "icmp"), 56),
		"iperf3-stream-tcp":                  withConnections(withStreams(stream, 1), "1"),
		"iperf3-stream-tcp-4-connections":    withStreams(stream, 4),
		"iperf3-stream-tcp-8-connections":    withConnections(stream, "8"),
		"iperf3":                             trialOf("iperf3", "", ""),
		"latte-rr-_script_-4B":               withBytes(trialOf("latte", "rr", "<script>"), 4),
		"k8s-netperf-rr-tcp-netperf-hostnet": withSetting("rr", "netperf hostnet"),
		"k8s-netperf-stream-tcp-netperf-hostnet-samenode-svc-ext-vm": withSetting("stream",
			"netperf hostnet samenode svc ext vm"),
		"k8s-netperf-stream-tcp-netperf-hostnet-samenode-svc-ext-9a019187": withSetting("stream",
			"netperf hostnet samenode svc ext vm burst16"),
		"x-" + strings.Repeat("y", 62): trialOf("x", strings.Repeat("y", 99), ""),
	} {
		if got := workloadName(trial); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOneWorkload: trials with one connection and with eight cannot have the same workload name.
func TestOneWorkload(t *testing.T) {
	trials := []result.Trial{{}, {Facts: map[string]string{"connections": "8"}}}
	err := oneWorkload(trials, "bulk")
	if err == nil || !strings.Contains(err.Error(), "trials with 1 and with 8 connections") {
		t.Errorf("%v", err)
	}
	for _, err := range []error{
		oneWorkload(trials, ""), oneWorkload(trials[:1], "bulk"), oneWorkload(trials[1:], "bulk"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// Every tool's name can be used in a workload name.
func TestWorkloadNamesOfAllTools(t *testing.T) {
	for _, name := range tool.Formats() {
		if got := workloadName(result.Trial{Tool: result.ToolVersion{Name: name}}); got != name {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}
