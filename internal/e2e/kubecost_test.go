//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/kits/kubetest"
	"nearfar/internal/onhost/machine"
)

// TestKubernetesPathsCost judges figures of pods. It takes minutes and a machine that does nothing else, so it runs on
// request: NEARFAR_PATHS is the number of blocks. All arms of a subtest are interleaved in one run.
//
//   - nodes: pods in the nodes' network measure what processes of the nodes measure, within 5 %.
//   - paths: the pod network and a Service cost more than nothing.
//   - starts: a trial between pods takes at most 30 ms longer than one by ssh.
func TestKubernetesPathsCost(t *testing.T) {
	blocks, err := strconv.Atoi(os.Getenv("NEARFAR_PATHS"))
	if err != nil || blocks < 1 {
		t.Skip("set NEARFAR_PATHS=30 for a run of 30 blocks")
	}
	r := newKubeRig(t, kubetest.Options{})
	for _, c := range []struct {
		name string
		test func(r *kubeRig)
	}{
		{"nodes", func(r *kubeRig) { r.nodesCost(blocks) }}, {"paths", func(r *kubeRig) { r.pathsCost(blocks) }},
		{"starts", (*kubeRig).startsCost},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.For(t)
			c.test(r.in(t))
		})
	}
}

// costWorkloads are the workloads of the subtests, with CPUS for a placement on one CPU. The first one is how two
// machines measure. If both sides run on one CPU, trials scatter much less, and small costs are found.
const costWorkloads = `
workloads:
  - {name: two-cpus, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 50ms}
  - {name: one-cpu, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 50ms, placement: CPUS}
`

// newConnections is a further workload: a connection for each request. A Service finds the pod for each connection.
const newConnections = `
  - {name: connects, tool: native, mode: crr, request: 64B, duration: 200ms, warmup: 50ms, placement: CPUS}
`

// costFile completes an experiment file with workloads and the schedule. repeats is how often each block runs the
// baseline.
func (r *kubeRig) costFile(file, workloads string, blocks, repeats int) string {
	r.t.Helper()
	cpus, err := machine.CPUs()
	if err != nil {
		r.t.Fatal(err)
	}
	client, server, err := machine.Place(cpus, experiment.Placement{Kind: experiment.PlacementShared})
	if err != nil {
		r.t.Fatal(err)
	}
	file += strings.ReplaceAll(workloads, "CPUS", fmt.Sprintf("{client: [%d], server: [%d]}", client[0], server[0]))
	return file + fmt.Sprintf("schedule: {blocks: %d, baseline_repeats: %d, seed: 1}\n", blocks, repeats)
}

// nodesOnly has the same path in all arms, from node to node. processes are processes in the nodes' network namespaces.
// grouped are such processes in the control groups of a pod, which are nested: the kernel accounts on each level.
// unconfined are pods without a filter of system calls (seccomp). pods are pods that have it, and limited are pods with
// nearfar's default limits of CPU and memory. So the layer pod is what is left if control groups and seccomp are the
// same.
const nodesOnly = `
nearfar: v1
name: nodes
question: What does it cost to measure between nodes from pods?
hosts:
  n1: {ssh: n1, address: N1, port: 7900}
  n2: {ssh: n2, address: N2, port: 7900}
  g1: {ssh: g1, address: N1, port: 7910}
  g2: {ssh: g2, address: N2, port: 7910}
baseline: processes
arms:
  processes: {client: n1, server: n2, layers: {}}
  grouped: {client: g1, server: g2, layers: {cgroups: 1}}
  unconfined:
    kubernetes:
      client: {node: n1, hostNetwork: true, resources: {}, port: 7920, securityContext: UNCONFINED}
      server: {node: n2, hostNetwork: true, resources: {}, port: 7920, securityContext: UNCONFINED}
    layers: {cgroups: 1, pod: 1}
  pods:
    kubernetes:
      client: {node: n1, hostNetwork: true, resources: {}, port: 7930}
      server: {node: n2, hostNetwork: true, resources: {}, port: 7930}
    layers: {cgroups: 1, pod: 1, seccomp: 1}
  limited:
    kubernetes:
      client: {node: n1, hostNetwork: true, port: 7940}
      server: {node: n2, hostNetwork: true, port: 7940}
    layers: {cgroups: 1, pod: 1, seccomp: 1, limits: 1}
`

// nodesCost compares pods in the nodes' network with processes of the nodes.
func (r *kubeRig) nodesCost(blocks int) {
	t := r.t
	// With fewer blocks, trials that scatter by 10 % leave intervals that are wider than what is judged.
	const share, enough = 0.05, 20
	hosts := r.sshOnNodes()
	file := strings.ReplaceAll(hosts.addressed(nodesOnly), "UNCONFINED", "{seccompProfile: {type: Unconfined}}")
	a := r.startInside(r.costFile(file, costWorkloads, blocks, 1), "--ssh-config", hosts.config).answer(t)
	r.logCosts(a)
	for _, workload := range []string{"two-cpus", "one-cpu"} {
		whole, like := costOf(t, a, "pods", workload), r.against(a, "grouped", "unconfined", workload)
		if whole.RelativeInterval == nil || like.RelativeInterval == nil {
			t.Logf("%s: %d blocks are too few for an interval", workload, blocks)
			continue
		}
		for what, c := range map[string]figures.Comparison{
			"a pod against a process": whole, "both in a pod's control groups, and without seccomp": like,
		} {
			t.Logf("%s, %s: %+.1f %% [%+.1f, %+.1f]", workload, what, 100**c.Relative, 100*c.RelativeInterval[0],
				100*c.RelativeInterval[1])
		}
		if blocks >= enough && math.Abs(*like.Relative) > share {
			t.Errorf("%s: a pod differs from a process by more than 5 %%, also in the same control groups and without "+
				"seccomp", workload)
		}
		if like.RelativeInterval[0] < -share || like.RelativeInterval[1] > share {
			t.Logf("%s: the interval does not exclude a difference of more than 5 %%", workload)
		}
	}
}

// against compares two arms of a run with `nearfar compare`.
func (r *kubeRig) against(a answer.Answer, baseline, arm, workload string) figures.Comparison {
	r.t.Helper()
	side := func(arm string) string { return a.Run + ":" + arm + "/" + workload }
	var compared answer.Answer
	out := nearfar(r.t, r.dir, nil, "compare", "-f", "json", side(baseline), side(arm))
	if err := json.Unmarshal(out, &compared); err != nil {
		r.t.Fatal(err)
	}
	return costOf(r.t, compared, arm, workload)
}

// pathsCost compares the ways between two pods.
func (r *kubeRig) pathsCost(blocks int) {
	t := r.t
	// So many blocks find a cost of one and a half standard deviations of a block's difference, in six comparisons.
	const enough = 12
	file, _, _ := strings.Cut(podPaths, "workloads:")
	file = strings.NewReplacer("NODE", "{hostNetwork: true, resources: {}}",
		"VXLAN", "{runtimeClassName: vxlan, resources: {}}", "POD", "{resources: {}}").Replace(file)
	a := r.start(r.costFile(file, costWorkloads+newConnections, blocks, 3)).answer(t)
	r.logCosts(a)
	for _, arm := range []string{"cluster-ip", "node-port", "vxlan"} {
		for _, workload := range []string{"two-cpus", "one-cpu"} {
			c := costOf(t, a, arm, workload)
			if blocks >= enough && (c.Verdict == figures.Lower ||
				workload == "one-cpu" && c.Verdict != figures.Higher) {
				t.Errorf("%s, %s: not slower than the nodes' network: %s %v", arm, workload, c.Verdict, c.Interval)
			}
		}
	}
	must := func(layer, workload, verdict string, interval figures.Interval) {
		switch {
		case verdict == figures.Higher:
		case blocks < enough:
			t.Logf("%s, %s: not found with %d blocks, and must be with %d", layer, workload, blocks, enough)
		default:
			t.Errorf("%s, %s: costs nothing that %d blocks find: %v", layer, workload, blocks, interval)
		}
	}
	// With a CPU for each side, trials scatter by more than a layer costs, so the layers must be found on one CPU.
	// logCosts says how many blocks would find them otherwise. The layer service is estimated from the two arms that
	// have it.
	for _, layer := range []string{"overlay", "vxlan", "service"} {
		l := layerOf(t, a, layer, "one-cpu")
		must(layer, "one-cpu", l.Verdict, l.Interval)
	}
	// Arms with the same two pods, compared with each other.
	for _, workload := range []string{"one-cpu", "two-cpus", "connects"} {
		c := r.against(a, "pods", "cluster-ip", workload)
		if c.Difference != nil && c.Interval != nil {
			t.Logf("%-8s a Service between the same pods: %s %+.2f us [%+.2f, %+.2f], finds %s", workload, c.Verdict,
				1e6**c.Difference, 1e6*c.Interval[0], 1e6*c.Interval[1], micro(c.Detectable))
		}
	}
}

// costOf is the comparison of an arm's round trip with the baseline's.
func costOf(t *testing.T, a answer.Answer, arm, workload string) figures.Comparison {
	t.Helper()
	return find(t, a.Comparisons, "comparison of "+arm+" in "+workload, func(c figures.Comparison) bool {
		return c.Arm == arm && c.Workload == workload && isMedianRTT(c.Quantity)
	})
}

// layerOf is the cost of a layer in the round trip.
func layerOf(t *testing.T, a answer.Answer, layer, workload string) figures.Layer {
	t.Helper()
	return find(t, a.Layers, "layer "+layer+" in "+workload, func(l figures.Layer) bool {
		return l.Layer == layer && l.Workload == workload && isMedianRTT(l.Quantity)
	})
}

func isMedianRTT(q figures.Quantity) bool { return q.Metric == "rtt" && q.Stat == "p50" }

// find finds the first element that is wanted. The test fails if there is none.
func find[T any](t *testing.T, all []T, what string, wanted func(T) bool) T {
	t.Helper()
	i := slices.IndexFunc(all, wanted)
	if i < 0 {
		t.Fatalf("no %s", what)
	}
	return all[i]
}

// logCosts logs all differences and layers in microseconds, with their intervals, and how many blocks would find what
// these blocks did not find.
func (r *kubeRig) logCosts(a answer.Answer) {
	r.t.Helper()
	for _, f := range a.Arms {
		if isMedianRTT(f.Quantity) {
			r.t.Logf("%-8s %-11s p50 %.2f us", f.Workload, f.Arm, 1e6*f.Median)
		}
	}
	for _, c := range a.Comparisons {
		if !isMedianRTT(c.Quantity) || c.Difference == nil || c.Interval == nil {
			continue
		}
		more := ""
		if c.Verdict == figures.NoDifference && c.BlocksNeeded != nil {
			more = fmt.Sprintf("; %d more blocks would find it", *c.BlocksNeeded)
		}
		r.t.Logf("%-8s %-11s %s %+.2f us [%+.2f, %+.2f], finds %s%s", c.Workload, c.Arm, c.Verdict, 1e6**c.Difference,
			1e6*c.Interval[0], 1e6*c.Interval[1], micro(c.Detectable), more)
	}
	for _, l := range a.Layers {
		if !isMedianRTT(l.Quantity) || l.Interval == nil {
			continue
		}
		more := ""
		if l.Verdict == figures.NoDifference && l.Detectable != nil {
			// The scatter of a median falls with the root of the number of blocks.
			times := *l.Detectable / l.Cost
			more = fmt.Sprintf("; about %.0f times the blocks would find it", math.Ceil(times*times))
		}
		r.t.Logf("%-8s layer %-8s %s %+.2f us [%+.2f, %+.2f], finds %s%s", l.Workload, l.Layer, l.Verdict, 1e6*l.Cost,
			1e6*l.Interval[0], 1e6*l.Interval[1], micro(l.Detectable), more)
	}
}

// micro writes seconds as microseconds; "?" for unknown.
func micro(seconds *float64) string {
	if seconds == nil {
		return "?"
	}
	return fmt.Sprintf("%.2f us", 1e6**seconds)
}

// quickTrials has short trials between pods, and between processes that ssh starts on the same nodes.
const quickTrials = `
nearfar: v1
name: starts
hosts:
  n1: {ssh: n1, address: N1, port: 7900}
  n2: {ssh: n2, address: N2, port: 7900}
baseline: ssh
arms:
  ssh: {client: n1, server: n2, layers: {}}
  pods: {kubernetes: {client: {node: n1, resources: {}}, server: {node: n2, resources: {}}}, layers: {pods: 1}}
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 80ms, warmup: 20ms}]
schedule: {blocks: 50, seed: 1}
`

// startsCost: a trial between pods takes at most 30 ms longer than one by ssh, with all that is before and after it.
func (r *kubeRig) startsCost() {
	const most = 30 * time.Millisecond
	t := r.t
	hosts := r.sshOnNodes()
	a := r.startInside(hosts.addressed(quickTrials), "--ssh-config", hosts.config).answer(t)
	took := untilNext(trials(t, a))
	c := stats.Compare(took["pods"], took["ssh"])
	for arm, values := range took {
		t.Logf("%s: a trial of 100 ms takes %.1f ms (median of %d)", arm,
			1e3*stats.Summarize(stats.Numbers(values)).Median.Value, len(values))
	}
	t.Logf("between pods %+.1f ms [%+.1f, %+.1f], paired in %d blocks", 1e3*c.Difference.Value, 1e3*c.Interval.Low,
		1e3*c.Interval.High, c.Blocks)
	if !c.Interval.Known || c.Difference.Value > most.Seconds() {
		t.Errorf("a trial between pods takes %+.1f ms longer than by ssh, want at most %v",
			1e3*c.Difference.Value, most)
	}
}
