package deploy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/kube"
)

// podExperiment has an arm between two pods, an arm through a Service to the same pods, and an arm with a host of the
// file.
func podExperiment() *experiment.Experiment {
	pod := func() *experiment.Pod {
		return &experiment.Pod{OS: experiment.PodLinux, Image: experiment.DefaultPodImage}
	}
	arm := func(name, through string) experiment.Arm {
		return experiment.Arm{Name: name, Kubernetes: &experiment.Kubernetes{
			Client: pod(), Server: pod(), Nodes: experiment.NodesDifferent, Through: through,
			Policy: experiment.PolicyOpen,
		}}
	}
	mixed := experiment.Arm{Name: "mixed", Client: "here", Kubernetes: &experiment.Kubernetes{
		Server: pod(), Through: experiment.ThroughPod, Policy: experiment.PolicyOpen,
	}}
	return &experiment.Experiment{
		Name: "e", Baseline: "pods", Hosts: []experiment.HostSpec{{Name: "here", Local: true}},
		Arms: []experiment.Arm{
			arm("pods", experiment.ThroughPod), arm("service", experiment.ThroughClusterIP), mixed,
		},
		Workloads: []experiment.Workload{{Name: "rr", Tool: "native", Mode: "rr", Duration: time.Second}},
		Schedule:  experiment.Schedule{Blocks: 10},
	}
}

// TestPrintPods: a dry run prints the objects without a kubeconfig.
func TestPrintPods(t *testing.T) {
	var out strings.Builder
	if err := PrintPods(&out, podExperiment(), t.TempDir()+"/none"); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{
		"Namespace": 1, "Pod": 3, "Service": 1, "NetworkPolicy": 1, "ClusterRole": 1,
	} {
		if got := strings.Count(out.String(), "\nkind: "+kind+"\n"); got != want {
			t.Errorf("%d objects of kind %s, want %d", got, kind, want)
		}
	}
}

// TestPodLife: pods live longer than their run takes.
func TestPodLife(t *testing.T) {
	e := podExperiment()
	if got := podLife(e, e.Cells()); got < time.Hour+2*30*31*time.Second || got > 3*time.Hour {
		t.Errorf("30 trials of a second: %v", got)
	}
	if usesICMP(e) {
		t.Error("there is no ping")
	}
	e.Workloads[0].Background = &experiment.Workload{Tool: "ping"}
	if !usesICMP(e) {
		t.Error("the background is ping")
	}
}

// TestSidecarWarning: a run warns if its pods had additional containers.
func TestSidecarWarning(t *testing.T) {
	hosts, err := json.Marshal(Record{Pods: &Pods{Pods: map[string]kube.PodFacts{
		"pods/client": {}, "pods/server": {Sidecars: []string{"istio-proxy"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	got := Warnings(hosts, nil)
	if len(got) != 1 || got[0].Code != "pod-sidecars" ||
		!strings.Contains(got[0].Message, "pods/server has containers") {
		t.Errorf("got %+v", got)
	}
}

// TestPodsMadeAnewWarning: a run whose pods were others from some trial on says so, once for all arms, and names the
// nodes that changed.
func TestPodsMadeAnewWarning(t *testing.T) {
	trial := func(number int, arm, id, node string) result.Trial {
		return result.Trial{Trial: number, Arm: arm, Facts: map[string]string{
			"client.pod": id + "-client", "client.node": "n1", "server.pod": id + "-server", "server.node": node,
		}}
	}
	lost := result.Trial{Trial: 3, Arm: "a", Error: "a/server is lost"}
	run := []result.Trial{trial(1, "a", "x", "n2"), trial(2, "b", "x", "n2"), lost}
	if got := anewWarnings(run); got != nil {
		t.Errorf("all trials in the same pods: %+v", got)
	}
	run = append(run, trial(4, "b", "y", "n3"), trial(5, "a", "y", "n3"), trial(6, "a", "z", "n3"))
	got := anewWarnings(run)
	const want = "the pods were made anew in the middle of the run (from trial 4, again from trial 6 on), so the " +
		"trials did not all run in the same pods: the server on node n3 instead of n2"
	if len(got) != 1 || got[0].Code != "pods-made-anew" || got[0].Message != want {
		t.Errorf("got %+v", got)
	}
	for i := range run {
		run[i].Deployment = 1
	}
	if got := anewWarnings(run); got != nil {
		t.Errorf("several deployments: %+v", got)
	}
}
