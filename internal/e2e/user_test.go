//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"nearfar/internal/hosts/lab"
)

// TestOrdinaryUser: an ordinary user gets the same lab, in a user namespace. The longer path takes about twice as long.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: all tests run as an ordinary user")
	}
	dir := workspace(t)
	name := write(t, dir, `
nearfar: v1
name: user
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  full: {lab: {path: [{firewall: {rules: 10}}, dlr, vtep, bridge, router, bridge, vtep]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 200ms, warmup: 50ms}
  - {name: iperf3, tool: iperf3, protocol: udp, rate: 20Mbit/s, duration: 1s}
  - {name: ping, tool: ping, interval: 5ms, duration: 200ms}
schedule: {blocks: 3, seed: 1}
`)
	const nobody = 65534
	user := &syscall.Credential{Uid: nobody, Gid: nobody}
	a := answerOf(t, nearfar(t, dir, user, "run", "--force", "-f", "json", name), dir)
	wantNoFailures(t, a)
	for _, c := range a.Comparisons {
		if c.Workload == "rr" && c.Stat == "p50" && (c.Difference == nil || *c.Difference <= 0) {
			t.Errorf("the full path is no slower: %+v", c)
		}
	}
	data, err := os.ReadFile(filepath.Join(a.Run, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Hosts struct{ Lab lab.Facts }
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	if !manifest.Hosts.Lab.UserNamespace {
		t.Error("the lab was not in a user namespace")
	}
}
