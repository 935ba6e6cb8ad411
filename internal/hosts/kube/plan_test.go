package kube

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"nearfar/internal/declare/experiment"
)

var update = flag.Bool("update", false, "write the golden files")

func testRun() Run {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return Run{ID: "abcdefgh", Owner: "ann@desk", Now: now, Expires: now.Add(2 * time.Hour)}
}

// between makes an arm whose pods are given.
func between(name, through string, client, server *experiment.Pod) experiment.Arm {
	return experiment.Arm{Name: name, Kubernetes: &experiment.Kubernetes{
		Context: "lab", Client: client, Server: server, Nodes: experiment.NodesDifferent, Through: through,
		Policy: experiment.PolicyOpen, Ready: time.Minute,
	}}
}

func linuxPod() *experiment.Pod {
	return &experiment.Pod{OS: experiment.PodLinux, Image: experiment.DefaultPodImage}
}

func plan(t *testing.T, run Run, arms ...experiment.Arm) []*Set {
	t.Helper()
	sets, err := Plan(run, arms)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// TestObjects compares all objects of experiments with golden files.
func TestObjects(t *testing.T) {
	onNode := func() *experiment.Pod {
		return &experiment.Pod{OS: experiment.PodLinux, HostNetwork: true, AgentImage: "r.example/agent:1"}
	}
	asked := &experiment.Pod{
		OS: experiment.PodLinux, Node: "n1", NodeSelector: map[string]string{"pool": "x"}, Zone: "z1",
		Affinity: []byte(`{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
			{"matchExpressions":[{"key":"a","operator":"Exists"}]},
			{"matchExpressions":[{"key":"b","operator":"Exists"}]}]}}}`),
		Tolerations: []byte(`[{"key":"dedicated","operator":"Exists"}]`), Image: "r.example/tools:1",
		AgentImage: "r.example/agent:1", ImagePullSecrets: []string{"pull"},
		Resources:   []byte(`{"limits":{"memory":"1Gi"}}`),
		Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "fast"}, Labels: map[string]string{"team": "net"},
		RuntimeClass: "kata", PriorityClass: "high", Scheduler: "volcano", SecurityContext: []byte(`{"runAsUser":1000}`), Port: 9000,
	}
	onWindows := func(image string) *experiment.Pod {
		return &experiment.Pod{
			OS: experiment.PodWindows, AgentImage: "r.example/agent:1", Image: image, HostNetwork: true,
		}
	}
	inWindows := &experiment.Pod{
		OS: experiment.PodWindows, Image: "r.example/agent-and-tools:1",
		Tolerations: []byte(`[{"key":"node.kubernetes.io/os","value":"windows","effect":"NoSchedule"}]`),
	}
	zones := between("zones", experiment.ThroughPod, linuxPod(), linuxPod())
	zones.Kubernetes.Nodes = experiment.NodesDifferentZones
	same := between("same", experiment.ThroughPod, linuxPod(), linuxPod())
	same.Kubernetes.Nodes = experiment.NodesSame
	given := between("asked", experiment.ThroughHeadless, asked, linuxPod())
	given.Kubernetes.Namespace, given.Kubernetes.Policy = "perf", experiment.PolicyLeave
	mixed := experiment.Arm{Name: "mixed", Client: "here", Kubernetes: &experiment.Kubernetes{
		Context: "lab", Server: linuxPod(), Through: experiment.ThroughLoadBalancer, Policy: experiment.PolicyOpen,
		Service: &experiment.ServiceOptions{
			Annotations: map[string]string{"networking.gke.io/load-balancer-type": "Internal"}, LoadBalancerClass: "inside",
		},
	}}
	ping := testRun()
	ping.ICMP = true
	both := testRun()
	both.UDP, both.Background = true, true
	for _, c := range []struct {
		name string
		run  Run
		arms []experiment.Arm
	}{
		{"paths", both, []experiment.Arm{
			between("pods", experiment.ThroughPod, linuxPod(), linuxPod()),
			between("service", experiment.ThroughClusterIP, linuxPod(), linuxPod()),
			between("node-port", experiment.ThroughNodePort, linuxPod(), linuxPod()),
			between("node", experiment.ThroughPod, onNode(), onNode()), same,
		}},
		{"asked", testRun(), []experiment.Arm{given}},
		{"zones", testRun(), []experiment.Arm{zones}},
		{"mixed", testRun(), []experiment.Arm{mixed}},
		{"ping", ping, []experiment.Arm{
			between("pods", experiment.ThroughPod, linuxPod(), linuxPod()),
			between("node", experiment.ThroughPod, onNode(), onNode()),
		}},
		{"windows", testRun(), []experiment.Arm{
			between("nodes", experiment.ThroughPod, onWindows(""), onWindows("r.example/tools:1")),
			between("pods", experiment.ThroughClusterIP, inWindows, inWindows),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			if err := Print(&got, plan(t, c.run, c.arms...)); err != nil {
				t.Fatal(err)
			}
			golden(t, c.name+".yaml", got.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// TestSharedPods: arms that differ only in how they use their pods share them, and pods with the same placement are put
// on the same nodes.
func TestSharedPods(t *testing.T) {
	other := linuxPod()
	other.Port, other.Tools = 9000, map[string]string{"iperf3": "/opt/iperf3"}
	leave := between("leave", experiment.ThroughPod, linuxPod(), linuxPod())
	leave.Kubernetes.Policy = experiment.PolicyLeave
	s := plan(t, testRun(),
		between("pods", experiment.ThroughPod, linuxPod(), linuxPod()),
		between("service", experiment.ThroughClusterIP, linuxPod(), other),
		between("node", experiment.ThroughPod, &experiment.Pod{OS: "linux", HostNetwork: true}, linuxPod()),
		leave,
	)[0]
	if got := s.Pods(); got != 6 {
		t.Errorf("%d pods, want 6", got)
	}
	if s.Uses["pods"].Server != s.Uses["service"].Server || s.Uses["pods"].Server == s.Uses["node"].Server {
		t.Errorf("the arms use %+v", s.Uses)
	}
	if got := s.Uses["service"].Port; got != 9000 {
		t.Errorf("the Service has port %d, want the pod's", got)
	}
	for _, pod := range s.pods {
		follows := pod.Spec.Affinity.PodAffinity != nil
		if leads := pod.Labels[LabelPair] == "p1"; leads == follows {
			t.Errorf("pod %s: affinity to other pods: %v", pod.Name, follows)
		}
	}
	if got := s.policy.Spec.PodSelector.MatchExpressions[0].Values; !slices.Equal(got, []string{"p1", "p2"}) {
		t.Errorf("the policy selects %v: the pair of the arm that leaves policies alone is p3", got)
	}
}

// TestLevels: a pod needs more than restricted only for what it asks.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name, context string
		hostNetwork   bool
		level, why    string
	}{
		{name: "default", level: Restricted},
		{name: "user", context: `{"runAsUser":1000}`, level: Restricted},
		{name: "port below 1024", context: `{"capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE"]}}`,
			level: Restricted},
		{name: "root", context: `{"runAsUser":0}`, level: Baseline, why: "runs as root"},
		{name: "chown", context: `{"capabilities":{"drop":["ALL"],"add":["CHOWN"]}}`, level: Baseline, why: "CHOWN"},
		{name: "kept", context: `{"capabilities":{}}`, level: Baseline, why: "does not drop"},
		{name: "raw sockets", context: `{"capabilities":{"drop":["ALL"],"add":["NET_RAW"]}}`, level: Privileged,
			why: "NET_RAW"},
		{name: "privileged", context: `{"privileged":true}`, level: Privileged, why: "is privileged"},
		{name: "seccomp", context: `{"seccompProfile":{"type":"Unconfined"}}`, level: Privileged, why: "seccomp"},
		{name: "network", hostNetwork: true, level: Privileged, why: "hostNetwork"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := linuxPod()
			pod.SecurityContext, pod.HostNetwork = []byte(c.context), c.hostNetwork
			s := plan(t, testRun(), between("a", experiment.ThroughPod, linuxPod(), pod))[0]
			why := strings.Join(s.Why, "; ")
			if s.Level != c.level || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
				t.Errorf("level %s because %q, want %s because of %q", s.Level, s.Why, c.level, c.why)
			}
			if got := s.made.Labels[labelEnforce]; got != c.level {
				t.Errorf("the namespace enforces %s", got)
			}
		})
	}
}

// TestWrongParts: parts of a PodSpec with mistakes are refused with the name of the key.
func TestWrongParts(t *testing.T) {
	for name, change := range map[string]func(*experiment.Pod){
		"affinity":        func(p *experiment.Pod) { p.Affinity = []byte(`{"nodeAfinity":{}}`) },
		"tolerations":     func(p *experiment.Pod) { p.Tolerations = []byte(`[{"kei":"a"}]`) },
		"resources":       func(p *experiment.Pod) { p.Resources = []byte(`{"limits":{"cpu":"a lot"}}`) },
		"securityContext": func(p *experiment.Pod) { p.SecurityContext = []byte(`{"runAsUser":"root"}`) },
	} {
		pod := linuxPod()
		change(pod)
		_, err := Plan(testRun(), []experiment.Arm{between("a", experiment.ThroughPod, linuxPod(), pod)})
		if err == nil || !strings.Contains(err.Error(), "arm a: the server's pod: "+name+": ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestWindows: what Windows does not have is not planned, and an agent's image without Windows is refused for pods that
// need Windows in their image.
func TestWindows(t *testing.T) {
	node := &experiment.Pod{OS: experiment.PodWindows, AgentImage: "r.example/agent:1", HostNetwork: true}
	pod := &experiment.Pod{OS: experiment.PodWindows, Image: "r.example/agent-and-tools:1"}
	s := plan(t, testRun(), between("nodes", experiment.ThroughPod, node, node),
		between("pods", experiment.ThroughPod, pod, pod))[0]
	for _, p := range s.pods {
		hostProcess := false
		if w := p.Spec.SecurityContext.WindowsOptions; w != nil {
			hostProcess = *w.HostProcess
		}
		if hostProcess != p.Spec.HostNetwork || p.Spec.DNSPolicy != "" || p.Spec.NodeSelector[labelOS] != "windows" ||
			p.Spec.SecurityContext.SeccompProfile != nil || p.Spec.SecurityContext.RunAsUser != nil {
			t.Errorf("pod %s: %+v", p.Name, p.Spec)
		}
		for _, c := range p.Spec.Containers {
			if slices.Contains(c.Command, "sh") || c.SecurityContext != nil {
				t.Errorf("pod %s: %+v", p.Name, c)
			}
		}
	}
	both := *pod
	both.AgentImage = "r.example/agent:1"
	_, err := Plan(testRun(), []experiment.Arm{between("a", experiment.ThroughPod, pod, &both)})
	if err == nil || !strings.Contains(err.Error(), "arm a: the server's pod: agentImage is for hostNetwork") {
		t.Errorf("got %v", err)
	}
}

// TestGuaranteed: the file can ask for a pod all of whose containers have limits that equal the requests.
func TestGuaranteed(t *testing.T) {
	pod := linuxPod()
	pod.AgentImage, pod.Resources = "r.example/agent:1", []byte(
		`{"requests":{"cpu":"1","memory":"256Mi"},"limits":{"cpu":"1","memory":"256Mi"}}`)
	s := plan(t, testRun(), between("a", experiment.ThroughPod, pod, pod))[0]
	for _, c := range slices.Concat(s.pods[0].Spec.InitContainers, s.pods[0].Spec.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			if request.IsZero() || request.Cmp(limit) != 0 {
				t.Errorf("container %s: request of %s %v, limit %v", c.Name, name, request, limit)
			}
		}
	}
}
