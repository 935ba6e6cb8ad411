//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// everyToolOverIPv6 has each tool that supports IPv6, in each mode and protocol, over every element that handles
// addresses.
const everyToolOverIPv6 = `
nearfar: v1
name: ipv6
arms:
  overlay: {lab: {path: [{firewall: {rules: 10}}, dlr, vtep, bridge, router, bridge, vtep]}}
workloads:
  - {name: rr, tool: native, ip: 6, dscp: 46, duration: 200ms, warmup: 50ms}
  - {name: rr-udp, tool: native, ip: 6, protocol: udp, dscp: 46, wait: epoll, duration: 200ms, warmup: 50ms}
  - {name: crr, tool: native, ip: 6, mode: crr, duration: 200ms, warmup: 50ms}
  - {name: stream, tool: native, ip: 6, mode: stream, direction: both, duration: 200ms, warmup: 50ms}
  - {name: load, tool: native, ip: 6, mode: load, rate: 1000/s, connections: 10, wait: epoll,
     duration: 200ms, warmup: 50ms}
  - {name: load-udp, tool: native, ip: 6, mode: load, protocol: udp, rate: 1000/s, duration: 200ms, warmup: 50ms}
  - {name: messages, tool: native, ip: 6, mode: messages, rate: 5000/s, duration: 200ms, warmup: 50ms}
  - {name: loaded, tool: native, ip: 6, duration: 300ms, warmup: 50ms, background: {congestion: reno}}
  - {name: netperf, tool: netperf, ip: 6, duration: 1s}
  - {name: netperf-udp, tool: netperf, ip: 6, protocol: udp, duration: 1s}
  - {name: netperf-crr, tool: netperf, ip: 6, mode: crr, duration: 1s}
  - {name: netperf-stream, tool: netperf, ip: 6, mode: stream, duration: 1s}
  - {name: iperf3, tool: iperf3, ip: 6, duration: 1s}
  - {name: iperf3-udp, tool: iperf3, ip: 6, protocol: udp, rate: 20Mbit/s, duration: 1s}
  - {name: ping, tool: ping, ip: 6, interval: 5ms, duration: 200ms}
  - {name: four, tool: native, duration: 200ms, warmup: 50ms}
schedule: {blocks: 1, seed: 1}
`

// TestEveryToolMeasuresOverIPv6: each tool measures over IPv6. The facts that say so come from the kernel or the tool,
// not from the experiment.
func TestEveryToolMeasuresOverIPv6(t *testing.T) {
	t.Parallel()
	a := measure(t, everyToolOverIPv6)
	wantNoFailures(t, a)
	all := trials(t, a)
	if len(all) != 16 {
		t.Errorf("%d trials, want 16", len(all))
	}
	for _, tr := range all {
		want := "6"
		if tr.Workload == "four" {
			want = "4"
		}
		facts := []string{"ip"}
		if tr.Tool.Name == "native" {
			facts = append(facts, "server.ip")
		}
		for _, fact := range facts {
			if tr.Facts[fact] != want {
				t.Errorf("%s: the fact %s is %q, want %s: %v", tr.Workload, fact, tr.Facts[fact], want, tr.Facts)
			}
		}
		if len(tr.Metrics) == 0 {
			t.Errorf("%s has no figures", tr.Workload)
		}
		for _, command := range tr.Commands {
			if strings.Contains(command, "fd6e:6561:7266:") != (want == "6") {
				t.Errorf("%s: %s", tr.Workload, command)
			}
		}
		switch tr.Workload {
		case "rr", "rr-udp": // in the traffic class, on both sides
			if tr.Facts["dscp"] != "46" || tr.Facts["server.dscp"] != "46" {
				t.Errorf("%s: dscp %q and %q, want 46", tr.Workload, tr.Facts["dscp"], tr.Facts["server.dscp"])
			}
		case "loaded":
			if tr.Facts["background.connections"] != "1" || len(tr.Commands) != 4 {
				t.Errorf("%s: no background: %v %q", tr.Workload, tr.Facts, tr.Commands)
			}
		}
		polled := tr.Facts["epoll_busy_poll_by"] != "" && tr.Facts["server.epoll_busy_poll_by"] != ""
		if tr.Facts["wait"] == "epoll" && !polled {
			t.Errorf("%s: the facts do not say how epoll polled: %v", tr.Workload, tr.Facts)
		}
	}
}

// TestThousandConnections: a load over a path of the lab has a thousand connections, with TCP and with UDP.
func TestThousandConnections(t *testing.T) {
	t.Parallel()
	a := measure(t, `
nearfar: v1
name: thousand
arms: {routed: {lab: {path: [bridge, router]}}}
workloads:
  - {name: tcp, tool: native, mode: load, rate: 2000/s, connections: 1000, duration: 500ms, warmup: 100ms}
  - {name: udp, tool: native, mode: load, protocol: udp, ip: 6, rate: 2000/s, connections: 1000,
     duration: 500ms, warmup: 100ms}
schedule: {blocks: 1, seed: 1}
`)
	wantNoFailures(t, a)
	for _, tr := range trials(t, a) {
		answered, ok := tr.Value("transaction_rate", "")
		if tr.Facts["connections"] != "1000" || !ok || answered <= 0 {
			t.Errorf("%s: %s connections, %v replies a second", tr.Workload, tr.Facts["connections"], answered)
		}
	}
}

// TestIPv6IsRefused: what IPv6 does not allow is an error when the file is read.
func TestIPv6IsRefused(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	said, code := fails(t, dir, nil, "run", write(t, dir, `
nearfar: v1
name: refused
arms: {small: {lab: {path: [vtep, vtep], mtu: 1300}}}
workloads:
  - {name: sockperf, tool: sockperf, ip: 6}
  - {name: native, tool: native, ip: 6}
`))
	for _, text := range []string{
		"sockperf does not speak IPv6", "too small for IPv6: give it an mtu of 1330 or more",
	} {
		if code != 2 || !strings.Contains(said, text) {
			t.Errorf("exit code %d, want 2; %q is not in:\n%s", code, text, said)
		}
	}
}
