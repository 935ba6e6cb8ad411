//go:build linux

package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
)

// recordOf reads the part "hosts" of run.json.
func recordOf(t *testing.T, a answer.Answer) (record deploy.Record) {
	t.Helper()
	dir, err := rundir.Open(a.Run)
	if err == nil {
		err = json.Unmarshal(dir.Manifest().Hosts, &record)
	}
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// factsOf are the facts of a side of an arm, in a deployment.
func factsOf(t *testing.T, record deploy.Record, deployment int, side string) *check.Facts {
	t.Helper()
	for _, h := range record.Facts {
		for _, s := range h.Sides {
			if h.Deployment == deployment && s == side {
				if h.Facts == nil {
					t.Fatalf("%s: %s", side, h.Problem)
				}
				return h.Facts
			}
		}
	}
	t.Fatalf("there are no facts of %s in deployment %d", side, deployment)
	return nil
}

// wantNodes judges a trial by its record: whether both sides were on one node.
func wantNodes(t *testing.T, record deploy.Record, trial result.Trial, same bool) {
	t.Helper()
	if trial.Observed == nil || trial.Observed.Client == nil || trial.Observed.Server == nil {
		t.Fatalf("trial %d of %s was observed at %+v", trial.Trial, trial.Arm, trial.Observed)
	}
	seen := check.Trial{
		Client: check.Side{Node: trial.Observed.Client.Node,
			Facts: factsOf(t, record, trial.Deployment, trial.Arm+"/client")},
		Server: check.Side{Node: trial.Observed.Server.Node,
			Facts: factsOf(t, record, trial.Deployment, trial.Arm+"/server")},
	}
	want := map[bool]check.Outcome{true: check.Proved, false: check.Refuted}
	for name, yes := range map[string]bool{check.ExpectSameNode: same, check.ExpectDifferentNodes: !same} {
		if j := check.Judge(check.Expectation{Name: name, Value: true}, seen); j.Outcome != want[yes] {
			t.Errorf("trial %d of %s: %s is %s (%s), want %s", trial.Trial, trial.Arm, name, j.Outcome, j.Evidence,
				want[yes])
		}
	}
}

// TestRunsKeepFactsAndCounters: a run keeps the facts of the hosts of each deployment, and each trial where its hosts
// were and what was counted around it.
func TestRunsKeepFactsAndCounters(t *testing.T) {
	t.Parallel()
	a := measure(t, `
nearfar: v1
name: proof
baseline: l2
arms:
  l2: {lab: {path: [bridge]}, expect: {same-node: true, driver: veth, mtu: 1500}}
  routed: {lab: {path: [bridge, router, bridge]}, expect: {same-node: true, driver: veth, mtu: 1500}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, response: 200B, duration: 100ms, warmup: 20ms}
  - {name: udp, tool: native, mode: rr, protocol: udp, request: 64B, response: 64B, duration: 100ms, warmup: 20ms}
  - {name: crr, tool: native, mode: crr, request: 64B, response: 64B, duration: 100ms, warmup: 20ms}
  - {name: up, tool: native, mode: stream, duration: 100ms, warmup: 20ms}
  - {name: down, tool: native, mode: stream, direction: download, duration: 100ms, warmup: 20ms}
  - {name: both, tool: native, mode: stream, direction: both, duration: 100ms, warmup: 20ms}
  - {name: load, tool: native, mode: load, request: 64B, response: 64B, rate: 500/s, duration: 100ms, warmup: 20ms}
  - {name: messages, tool: native, mode: messages, protocol: udp, message: 64B, duration: 100ms, warmup: 20ms}
schedule: {blocks: 1, deployments: 2, seed: 1}
`, "--force")
	wantNoFailures(t, a)
	if n := len(trials(t, a)); n != 32 || a.State != rundir.Complete {
		t.Errorf("%d trials in a run that is %s, want 32", n, a.State)
	}
	for _, p := range a.Proof {
		if p.Outcome != check.Proved || p.Trials != 16 {
			t.Errorf("%+v", p)
		}
	}
	if len(a.Proof) != 2 || a.Unproved != "" {
		t.Errorf("%d arms are judged: %s", len(a.Proof), a.Unproved)
	}
	record := recordOf(t, a)
	if len(record.Facts) != 8 || record.FactsLeftOut != 0 {
		t.Fatalf("the facts of %d hosts are kept", len(record.Facts))
	}
	fastest := time.Hour
	for _, h := range record.Facts {
		f := h.Facts
		if f == nil || f.BootID == "" || f.Path == nil || f.Path.Device != "eth0" || f.OnPath() == nil ||
			f.OnPath().Driver != "veth" || f.Where != nil {
			t.Errorf("deployment %d, %s: %s %+v", h.Deployment, h.Host, h.Problem, f)
			continue
		}
		fastest = min(fastest, time.Duration(f.Seconds*float64(time.Second)))
	}
	t.Logf("facts: %v for the fastest host", fastest)
	if fastest > 300*time.Millisecond {
		t.Errorf("the fastest reading of facts took %v", fastest)
	}
	cheapest := time.Hour
	for _, trial := range trials(t, a) {
		wantNodes(t, record, trial, true)
		if trial.Counters == nil {
			t.Fatalf("trial %d has no counters", trial.Trial)
		}
		for side, c := range map[string]*check.Counters{
			"client": trial.Counters.Client, "server": trial.Counters.Server,
		} {
			d := c.Device("eth0")
			if d == nil || !d.Known || d.TxPackets == 0 || d.RxPackets == 0 || len(c.Devices) != 1 {
				t.Errorf("trial %d, %s: %+v", trial.Trial, side, c)
				continue
			}
			if window := time.Duration(trial.DurationSeconds * float64(time.Second)); c.Until.Sub(c.At) < window {
				t.Errorf("trial %d, %s: counted for %v, and measured for %v", trial.Trial, side, c.Until.Sub(c.At),
					window)
			}
			cheapest = min(cheapest, time.Duration(c.Seconds*float64(time.Second)))
		}
	}
	t.Logf("counters: both readings took %v in the fastest trial", cheapest)
	if cheapest > 5*time.Millisecond {
		t.Errorf("the fastest readings of counters took %v", cheapest)
	}
}
