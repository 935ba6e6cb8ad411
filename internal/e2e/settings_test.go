//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/rundir"
)

// ofLab returns the experiment of a lab with texts replaced by others, in pairs, so that it takes seconds instead of
// minutes.
func ofLab(t *testing.T, lab string, replaced ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "labs", lab, "experiment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(text, replaced[i]) {
			t.Fatalf("labs/%s has no %q", lab, replaced[i])
		}
		text = strings.ReplaceAll(text, replaced[i], replaced[i+1])
	}
	return text
}

// hostsOf returns for each arm the addresses of its client and server.
func hostsOf(t *testing.T, a answer.Answer) map[string]string {
	t.Helper()
	dir, err := rundir.Open(a.Run)
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Lab struct {
			Arms []struct{ Arm, Client, Server string }
		}
	}
	if err := json.Unmarshal(dir.Manifest().Hosts, &record); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]string{}
	for _, arm := range record.Lab.Arms {
		hosts[arm.Arm] = arm.Client + " " + arm.Server
	}
	return hosts
}

// TestCongestionLab: the lab compares BBR with CUBIC once, and the kernel says for each trial which of them it used.
// BBR has several times the goodput of CUBIC on a path that loses packets.
func TestCongestionLab(t *testing.T) {
	available, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	other := "bbr"
	if !slices.Contains(strings.Fields(string(available)), other) {
		other = "reno" // this kernel has no BBR
	}
	text := ofLab(t, "congestion",
		"duration: 2s, warmup: 500ms", "duration: 500ms, warmup: 200ms", "blocks: 12", "blocks: 6",
		"  - {name: iperf3, tool: iperf3, duration: 2s, warmup: 1s, optional: true}\n", "",
		"set: {congestion: bbr}", "set: {congestion: "+other+"}",
		"  reno:  {lab: {path: [{wire: {delay: 5ms, rate: 100Mbit/s, loss: 1%}}]}, set: {congestion: reno}}\n", "")
	a := measure(t, text)
	wantNoFailures(t, a)
	for _, trial := range trials(t, a) {
		want := map[string]string{"cubic": "cubic", "bbr": other}[trial.Arm]
		treated := strings.Contains(trial.Treatment["congestion"], want)
		if trial.Set["congestion"] != want || trial.Facts["tcp_congestion"] != want || !treated {
			t.Errorf("%s: set %v, treatment %v, fact %s",
				trial.Arm, trial.Set, trial.Treatment, trial.Facts["tcp_congestion"])
		}
	}
	if len(a.Comparisons) != 1 {
		t.Fatalf("%+v", a.Comparisons)
	}
	c := a.Comparisons[0]
	if c.Difference == nil || c.Arm != "bbr" || c.Baseline != "cubic" {
		t.Fatalf("%+v", c)
	}
	t.Log(a.Verdict)
	said := strings.Contains(a.Headline, "ith bbr, goodput is ")
	if other == "bbr" && (c.Verdict != figures.Higher || !said) {
		t.Errorf("%s: %+v", a.Verdict, c)
	}
	hosts := hostsOf(t, a)
	if len(hosts) != 2 || hosts["cubic"] == "" || hosts["cubic"] != hosts["bbr"] {
		t.Errorf("arms that differ only in a setting do not share their hosts: %v", hosts)
	}
}

// TestIPVersionsLab: each arm measures its version of IP, and the version counts as a layer, like the router.
func TestIPVersionsLab(t *testing.T) {
	t.Parallel()
	a := measure(t, ofLab(t, "ip-versions",
		"duration: 500ms, warmup: 100ms", "duration: 100ms, warmup: 20ms", "blocks: 12", "blocks: 4",
		"  - {name: netperf, tool: netperf, mode: rr, request: 64B, duration: 1s, optional: true}\n", ""), "--force")
	wantNoFailures(t, a)
	for _, trial := range trials(t, a) {
		want := "4"
		if strings.HasSuffix(trial.Arm, "v6") {
			want = "6"
		}
		if trial.Facts["ip"] != want || trial.Facts["server.ip"] != want || want == "6" && trial.Set["ip"] != want {
			t.Errorf("%s: set %v, facts %v", trial.Arm, trial.Set, trial.Facts)
		}
	}
	var layers []string
	for _, l := range a.Layers {
		layers = append(layers, l.Layer)
	}
	if !slices.Contains(layers, "ip=6") || len(a.Residual) == 0 {
		t.Errorf("layers %v, residual %+v, warnings %+v", layers, a.Residual, a.Warnings)
	}
	hosts := hostsOf(t, a)
	if hosts["v4"] != hosts["v6"] || hosts["routed-v4"] != hosts["routed-v6"] || hosts["v4"] == hosts["routed-v4"] {
		t.Errorf("%v", hosts)
	}
}

// TestCPUsLab: each arm runs on the CPUs and with the way of waiting that it declares. Nothing warns of these
// differences, because the experiment asks about them.
func TestCPUsLab(t *testing.T) {
	t.Parallel()
	a := measure(t, ofLab(t, "cpus", "duration: 500ms, warmup: 100ms", "duration: 400ms, warmup: 50ms",
		"blocks: 12", "blocks: 2"), "--force")
	wantNoFailures(t, a)
	for _, trial := range trials(t, a) {
		client, server := trial.Facts["placement.client.cpus"], trial.Facts["placement.server.cpus"]
		if one := trial.Arm == "one-cpu"; (client == server) != one {
			t.Errorf("%s: client on CPU %s, server on CPU %s", trial.Arm, client, server)
		}
		want := map[bool]string{true: "spin", false: "block"}[trial.Arm == "spin"]
		if trial.Facts["wait"] != want || trial.Facts["server.wait"] != want {
			t.Errorf("%s waits %s and %s", trial.Arm, trial.Facts["wait"], trial.Facts["server.wait"])
		}
	}
	for _, w := range a.Warnings {
		if w.Code == "waiting-differs" || w.Code == "placement-differs" || w.Code == "setting-unproved" {
			t.Errorf("%+v", w)
		}
	}
}

const foreignCongestion = `
nearfar: v1
name: foreign
arms:
  plain:   {lab: {path: [bridge]}, set: {congestion: cubic}}
  reno:    {lab: {path: [bridge]}, set: {congestion: reno}}
workloads:
  - {name: iperf3,  tool: iperf3, duration: 1s}
  - {name: netperf, tool: netperf, duration: 1s}
  - {name: bulk,    tool: netperf, mode: stream, duration: 1s}
  - {name: rr,      tool: native, duration: 100ms, warmup: 20ms}
schedule: {blocks: 1, seed: 1}
`

// TestCongestionOfForeignTools: nearfar tells other tools which congestion control to use, and checks which one they
// used. One that the kernel of a lab does not have is refused before anything is made.
func TestCongestionOfForeignTools(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	unknown := strings.Replace(foreignCongestion, "{congestion: reno}", "{congestion: nosuch}", 1)
	cmd := exec.Command(program, "run", "--force", "-f", "json", write(t, dir, unknown))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() == 0 || !bytes.Contains(out, []byte("nosuch")) {
		t.Errorf("an unknown congestion control: %v, %s", err, out)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "runs")); err == nil && len(left) > 0 {
		t.Errorf("it was measured: %v", left)
	}
	a := measure(t, foreignCongestion, "--force")
	for _, trial := range trials(t, a) {
		switch trial.Arm {
		case "reno":
			if trial.Error != "" || !strings.Contains(trial.Treatment["congestion"], "reno") {
				t.Errorf("%s: %s %v", trial.Workload, trial.Error, trial.Treatment)
			}
		}
	}
}
