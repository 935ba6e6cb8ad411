//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// denyAll denies all traffic of the pods of a namespace.
const denyAll = `{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny-all"},
"spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}}`

// deniedPods is a run in a namespace that denies by default. The arms are all ways on which packets come from different
// addresses: pods, a Service, a port of a node, and a node.
const deniedPods = `
nearfar: v1
name: denied
arms:
  pods: {kubernetes: {namespace: denied, networkPolicy: POLICY, client: POD, server: POD}}
  cluster-ip: {kubernetes: {namespace: denied, networkPolicy: POLICY, client: POD, server: POD, through: ClusterIP}}
  node-port: {kubernetes: {namespace: denied, networkPolicy: POLICY, client: POD, server: POD, through: NodePort}}
  from-node: {kubernetes: {namespace: denied, networkPolicy: POLICY, client: NODE, server: POD}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 1s, warmup: 50ms}
  - {name: datagrams, tool: native, mode: rr, protocol: udp, request: 64B, duration: 1s, warmup: 50ms}
schedule: {blocks: 1, seed: 1}
`

// policies: in a namespace whose policy denies all traffic, packets are dropped. With `networkPolicy: leave` the run
// ends before it measures, and names the policy. By default nearfar's own policy admits what the arms need.
func (r *kubeRig) policies() {
	t := r.t
	r.Kubectl("create", "namespace", "denied")
	file := filepath.Join(r.dir, "deny.json")
	if err := os.WriteFile(file, []byte(denyAll), 0o644); err != nil {
		t.Fatal(err)
	}
	r.Kubectl("apply", "-n", "denied", "-f", file)
	r.EnforcePolicies(t, "denied")
	with := func(policy string) *kubeRun {
		return r.start(strings.NewReplacer("POLICY", policy, "POD", "{resources: {}}", "NODE",
			"{hostNetwork: true, resources: {}}").Replace(deniedPods))
	}
	left := with("leave")
	<-left.ended
	r.wantDenied(t, left)
	a := with("open").answer(t)
	for _, arm := range []string{"pods", "cluster-ip", "node-port", "from-node"} {
		for _, workload := range []string{"rr", "datagrams"} {
			// On a busy machine a trial can have too few round trips for a percentile.
			mean := meanOfTrials(t, a, arm, workload)
			if mean <= 0 {
				t.Errorf("nothing was measured of %s in %s", workload, arm)
			}
			t.Logf("%-10s %-9s %6.1f us", arm, workload, 1e6*mean)
		}
	}
	r.nothingLeftOf(a)
}

// wantDenied: the run failed because packets do not arrive, and says so for each arm.
func (r *kubeRig) wantDenied(t *testing.T, p *kubeRun) {
	t.Helper()
	said := p.said()
	if got := p.cmd.ProcessState.ExitCode(); got != 1 {
		t.Errorf("exit code %d, want 1", got)
	}
	for _, want := range []string{
		"these network policies select the pods: deny-all", "pods/client", "from-node/client",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("does not say %q", want)
		}
	}
	if strings.Contains(said, "trial 1/") {
		t.Error("it measures")
	}
	if t.Failed() {
		t.Fatalf("it says:\n%s", said)
	}
	t.Logf("it says:\n%s", said)
}
