//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// everyTool has each tool in each mode and protocol that it supports.
const everyTool = `
nearfar: v1
name: tools
arms:
  overlay: {lab: {path: [{firewall: {rules: 10}}, dlr, vtep, bridge, router, bridge, vtep]}}
workloads:
  - {name: native-rr, tool: native, mode: rr, protocol: tcp, duration: 200ms, warmup: 50ms}
  - {name: native-rr-udp, tool: native, mode: rr, protocol: udp, duration: 200ms, warmup: 50ms}
  - {name: native-crr, tool: native, mode: crr, duration: 200ms, warmup: 50ms}
  - {name: native-stream, tool: native, mode: stream, duration: 200ms, warmup: 50ms}
  - {name: native-stream-both, tool: native, mode: stream, direction: both, connections: 2, congestion: reno,
     duration: 200ms, warmup: 50ms}
  - {name: native-load, tool: native, mode: load, rate: 2000/s, arrivals: poisson, connections: 10,
     duration: 200ms, warmup: 50ms}
  - {name: native-load-udp, tool: native, mode: load, protocol: udp,
     steps: [{rate: 500/s, for: 100ms}, {rate: 2000/s, for: 100ms}], warmup: 50ms}
  - {name: native-messages, tool: native, mode: messages, rate: 5000/s, duration: 200ms, warmup: 50ms}
  - {name: native-messages-tcp, tool: native, mode: messages, protocol: tcp, wait: spin, dscp: 8,
     duration: 1s, warmup: 50ms}
  - {name: sockperf-tcp, tool: sockperf, protocol: tcp, duration: 1s}
  - {name: sockperf-udp, tool: sockperf, protocol: udp, duration: 1s}
  - {name: sockperf-load, tool: sockperf, mode: load, rate: 2000/s, duration: 1s}
  - {name: sockperf-load-udp, tool: sockperf, mode: load, protocol: udp, rate: 2000/s, reply_every: 10, duration: 1s}
  - {name: sockperf-messages, tool: sockperf, mode: messages, message: 1000B, duration: 1s}
  - {name: netperf-rr, tool: netperf, mode: rr, request: 1024B, response: 1024B, duration: 1s}
  - {name: netperf-rr-udp, tool: netperf, mode: rr, protocol: udp, duration: 1s}
  - {name: netperf-crr, tool: netperf, mode: crr, duration: 1s}
  - {name: netperf-stream, tool: netperf, mode: stream, duration: 1s}
  - {name: iperf3-tcp, tool: iperf3, protocol: tcp, duration: 1s}
  - {name: iperf3-udp, tool: iperf3, protocol: udp, rate: 20Mbit/s, duration: 1s}
  - {name: qperf-tcp, tool: qperf, duration: 1s}
  - {name: qperf-udp, tool: qperf, protocol: udp, duration: 1s, ip: 6}
  - {name: qperf-stream, tool: qperf, mode: stream, duration: 1s}
  - {name: qperf-stream-udp, tool: qperf, mode: stream, protocol: udp, message: 1000B, duration: 1s}
  - {name: ping, tool: ping, interval: 5ms, duration: 200ms}
  - {name: fortio, tool: fortio, duration: 300ms}
  - {name: wrk, tool: wrk, duration: 1s, ip: 6}
schedule: {blocks: 1, seed: 1}
`

// TestEveryToolMeasures: a trial of each tool has a figure, the tool's version, its output, and the CPUs that it ran
// on.
func TestEveryToolMeasures(t *testing.T) {
	t.Parallel()
	a := measure(t, everyTool)
	wantNoFailures(t, a)
	all := trials(t, a)
	if len(all) != 27 {
		t.Errorf("%d trials, want 27", len(all))
	}
	for _, tr := range all {
		if tr.Tool.Version == "" {
			t.Errorf("%s has no version", tr.Workload)
		}
		if len(tr.Raw) == 0 || len(tr.Commands) == 0 {
			t.Errorf("%s has no output or no command line: %+v", tr.Workload, tr)
		}
		if tr.Facts["placement.client.cpus"] == "" {
			t.Errorf("%s does not say where it ran", tr.Workload)
		}
		name, stat := "rtt", "mean"
		switch {
		case strings.Contains(tr.Workload, "stream"), strings.Contains(tr.Workload, "iperf3"):
			name, stat = "goodput", ""
		case strings.Contains(tr.Workload, "native-load"), tr.Tool.Name == "fortio", tr.Tool.Name == "wrk":
			name = "response_time"
		case strings.Contains(tr.Workload, "messages"):
			name, stat = "message_rate", ""
		}
		if v, ok := tr.Value(name, stat); !ok || v <= 0 {
			t.Errorf("%s has no %s: %+v", tr.Workload, name, tr.Metrics)
		}
	}
}

// TestMissingTool: nearfar names all missing programs before it measures anything, and makes no run directory.
func TestMissingTool(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	name := write(t, dir, everyTool)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	out, code := fails(t, dir, []string{"PATH=" + bin}, "run", name)
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, program := range []string{"sockperf", "netperf", "iperf3", "ping", "qperf", "fortio", "wrk"} {
		if !strings.Contains(out, program+" is not installed (needed by ") {
			t.Errorf("%s is not named in %s", program, out)
		}
		if !strings.Contains(out, "\n  "+program+": ") {
			t.Errorf("how to install %s is not said in %s", program, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); !os.IsNotExist(err) {
		t.Errorf("a run directory was made: %v", err)
	}
}

// TestStandInOfNtttcp runs ntttcp in a lab with a stand-in (internal/measure/tool/testdata/standins), because ntttcp is
// in no distribution: the runner waits for the receiver, which ends by itself, and the goodput is the receiver's.
func TestStandInOfNtttcp(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	bin := filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "ntttcp"), "../measure/tool/testdata/standins/ntttcp")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, "run", "--force", "-f", "json", write(t, dir, `
nearfar: v1
name: stand-in
arms:
  near: {lab: {path: [bridge]}}
workloads:
  - {name: one, tool: ntttcp, duration: 1s}
  - {name: four, tool: ntttcp, connections: 4, message: 8192B, warmup: 1s, duration: 1s}
schedule: {blocks: 1, seed: 1}
`))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	a := answerOf(t, stdout, dir)
	wantNoFailures(t, a)
	for _, tr := range trials(t, a) {
		if v, ok := tr.Value("goodput", ""); !ok || v < 1e6 {
			t.Errorf("%s: goodput %v, %v", tr.Workload, v, ok)
		}
		if tr.Tool.Version != "1.4.0" || tr.Facts["sender.cpu_percent"] == "" {
			t.Errorf("%s: version %q, facts %v", tr.Workload, tr.Tool.Version, tr.Facts)
		}
	}
}
