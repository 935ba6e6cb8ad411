//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/kits/kubetest"
)

// nearAndFar compares pods on two nodes near each other with pods on two nodes far from each other. Labels of nodes
// say which are which, as those of a node group do. A selector and an affinity are two ways to say it.
const nearAndFar = `
nearfar: v1
name: near-and-far
question: What does a placement group change between two pods on two nodes?
baseline: near
arms:
  near:
    kubernetes:
      client: {nodeSelector: {placementGroup: "true"}, resources: {}}
      server: {nodeSelector: {placementGroup: "true"}, resources: {}}
    layers: {}
  far:
    kubernetes: {client: {affinity: OUTSIDE, resources: {}}, server: {affinity: OUTSIDE, resources: {}}}
    layers: {distance: 1}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 300ms, warmup: 100ms}
  - {name: bulk, tool: native, mode: stream, duration: 1s, warmup: 200ms}
schedule: {blocks: 6, seed: 1}
`

// outside is an affinity to nodes outside the placement group.
const outside = `{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
      {matchExpressions: [{key: placementGroup, operator: NotIn, values: ["true"]}]}]}}}`

// TestNearAndFar measures the difference of two pairs of nodes, each with a wire. The far wire has a delay and half the
// rate.
//
// The interval of the difference of round trips must overlap the truth within 5 %: twice the delay, and the time that
// the slower wire takes longer for a request and a reply. The best trial of each arm must have a goodput within 5 % of
// what the rate leaves to the application (see TestRateIsFound). The machine also runs a cluster of four nodes, so the
// delay is longer, the rates are lower, and the tolerances are wider than in the tests of a lab's wires. The tolerance
// is 200 us, many times the scatter of the differences, so the six blocks that an interval takes are enough.
func TestNearAndFar(t *testing.T) {
	const (
		delay = 2 * time.Millisecond
		rate  = 50e6 // bit/s of the far wire; the near one has twice as much
		share = 0.05
		// The bytes of a frame with 64 bytes of data.
		frame = 64 + 32 + 20 + 14
	)
	group := func(name, in string) kubetest.NodeOptions {
		return kubetest.NodeOptions{Name: name, Zone: "a", Labels: map[string]string{"placementGroup": in}}
	}
	r := newKubeRig(t, kubetest.Options{
		Nodes: []kubetest.NodeOptions{
			group("near1", "true"), group("near2", "true"), group("far1", "false"), group("far2", "false"),
		},
		Wires: []kubetest.Wire{
			{A: "near1", B: "near2", Rate: 2 * rate}, {A: "far1", B: "far2", Delay: delay, Rate: rate},
		},
	})
	truth := 2*delay.Seconds() + 2*8*frame*(1/rate-1/(2*rate))
	wantTruthOf(t, func(int) answer.Answer {
		a := r.start(strings.ReplaceAll(nearAndFar, "OUTSIDE", outside)).answer(t)
		r.nothingLeft()
		for name, pod := range podsOf(t, a).Pods {
			if arm, _, _ := strings.Cut(name, "/"); !strings.HasPrefix(pod.Node, arm) {
				t.Fatalf("%s is on node %s", name, pod.Node)
			}
		}
		return a
	}, func(a answer.Answer) (wrong []string) {
		best := map[string]float64{}
		for _, tr := range trials(t, a) {
			if goodput, ok := tr.Value("goodput", ""); ok && tr.Workload == "bulk" {
				best[tr.Arm] = max(best[tr.Arm], goodput)
			}
		}
		for arm, wire := range map[string]float64{"near": 2 * rate, "far": rate} {
			want := wire * 1448 / 1514
			t.Logf("%s: at most %.1f Mbit/s, want %.1f", arm, best[arm]/1e6, want/1e6)
			if best[arm] < (1-share)*want || best[arm] > (1+share)*want {
				wrong = append(wrong, fmt.Sprintf("%s: %g bit/s, want %g", arm, best[arm], want))
			}
		}
		for _, c := range a.Comparisons {
			if c.Arm != "far" || c.Workload != "rr" || c.Metric != "rtt" || c.Stat != "p50" {
				continue
			}
			if c.Interval == nil {
				t.Fatalf("no interval: %+v", c)
			}
			t.Logf("far - near: %.1f us [%.1f, %.1f], want %.1f", 1e6**c.Difference, 1e6*c.Interval[0],
				1e6*c.Interval[1], 1e6*truth)
			if c.Verdict != figures.Higher || c.Interval[1] < (1-share)*truth || c.Interval[0] > (1+share)*truth {
				wrong = append(wrong, fmt.Sprintf("%s: [%g, %g], want %g", c.Verdict, c.Interval[0], c.Interval[1],
					truth))
			}
			return wrong
		}
		t.Fatalf("no comparison of round trips: %+v", a.Comparisons)
		return nil
	})
	r.labsMade() // which judges no figures: they need a cluster with two pairs of nodes, as this one
}
