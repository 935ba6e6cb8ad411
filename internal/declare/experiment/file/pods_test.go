package file

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
)

const podsFile = `nearfar: v1
name: x
hosts: {a: {ssh: vm-a}}
arms:
  pods: {kubernetes: {}}
  again: {kubernetes: {ready: 10m}}
  service: {kubernetes: {through: ClusterIP}}
  node-port: {kubernetes: {through: NodePort, server: {port: 30100, tools: {iperf3: /opt/iperf3}}}}
  second-nic: {kubernetes: {client: {interface: net1}}}
  spin: {kubernetes: {}, set: {wait: spin}}
  zone: {kubernetes: {server: {zone: b}}}
  host: {kubernetes: {server: {hostNetwork: true}}}
  same: {kubernetes: {nodes: same}}
  from-vm: {client: a, kubernetes: {}}
  from-vm-service: {client: a, kubernetes: {through: NodePort}}
  vms: {client: a, server: a}
workloads: [{name: rr, tool: native}]
`

// Arms share pods that are equal, and hosts if they also use the pods in the same way.
func TestPodsOfArms(t *testing.T) {
	e := parsed(t, podsFile, Inputs{})
	if !e.HasPods() || parsed(t, agentFile, variables(map[string]string{"WIN_JOIN": "nearfar-agent.1.x"})).HasPods() {
		t.Error("HasPods is wrong")
	}
	for arm, want := range map[string]struct{ pods, hosts string }{
		"pods": {"pods", "pods"}, "again": {"pods", "pods"}, "spin": {"pods", "pods"}, "service": {"pods", "service"},
		"node-port": {"pods", "node-port"}, "second-nic": {"pods", "second-nic"}, "zone": {"zone", "zone"},
		"host": {"host", "host"}, "same": {"same", "same"}, "from-vm": {"from-vm", "from-vm"},
		"from-vm-service": {"from-vm", "from-vm-service"}, "vms": {"", "vms"},
	} {
		if got := e.PodsOf(arm); got != want.pods {
			t.Errorf("pods of %s: %q, want %q", arm, got, want.pods)
		}
		if got := e.HostsOf(arm); got != want.hosts {
			t.Errorf("hosts of %s: %q, want %q", arm, got, want.hosts)
		}
	}
	// Differences between pods are no cost of the values that an arm sets.
	want := []map[string]int{{}, {}, {"hosts=service": 1}, {"hosts=node-port": 1}, {"hosts=second-nic": 1},
		{"wait=spin": 1}, {"hosts=zone": 1}, {"hosts=host": 1}, {"hosts=same": 1}, {"hosts=a/from-vm": 1},
		{"hosts=a/from-vm-service": 1}, {"hosts=a/a": 1}}
	if diff := cmp.Diff(want, e.LayersIn("rr")); diff != "" {
		t.Errorf("layers of rr (-want +got):\n%s", diff)
	}
	if e.Workloads[0].Placement.Kind != experiment.PlacementSplit {
		t.Errorf("placement %s, want split", e.Workloads[0].Placement)
	}
	for name, want := range map[string][2]string{"pods": {"pods/client", "pods/server"},
		"again": {"pods/client", "pods/server"}, "service": {"service/client", "service/server"},
		"from-vm": {"a", "from-vm/server"}, "vms": {"a", "a"}} {
		arm, _ := e.Arm(name)
		if client, server := e.Sides(arm); client != want[0] || server != want[1] {
			t.Errorf("sides of %s: %s, %s", name, client, server)
		}
	}
}

func TestPodsAreDescribed(t *testing.T) {
	e := parsed(t, `nearfar: v1
name: x
hosts: {a: {ssh: vm-a}}
arms:
  any: {kubernetes: {}}
  far:
    kubernetes:
      client: {node: n1, hostNetwork: true}
      server: {zone: b, nodeSelector: {b: "", a: x}}
      through: ClusterIP
  near: {kubernetes: {nodes: same, client: {os: windows, image: x, interface: net1}, server: {os: windows, image: x}}}
  zones: {kubernetes: {nodes: different-zones}}
  mixed: {client: a, kubernetes: {}}
  vms: {client: a, server: a}
workloads: [{name: rr, tool: native}]
`, Inputs{})
	var got []string
	for _, a := range e.Arms {
		got = append(got, a.Name+": "+a.HostsText())
	}
	want := []string{
		"any: pod to pod, different nodes",
		"far: pod (node n1, host network) to pod (a=x, b=, zone b), different nodes, through ClusterIP",
		"near: pod (Windows, interface net1) to pod (Windows), the same node",
		"zones: pod to pod, different zones",
		"mixed: a to pod",
		"vms: a to a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Parts of manifests are kept as JSON whose keys are sorted, so that equal ones are equal texts.
func TestManifestsAreJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{limits: {memory: 256Mi, cpu: 2}}`:            `{"limits":{"cpu":2,"memory":"256Mi"}}`,
		`{limits: {cpu: 1.50}, requests: {cpu: "1"}}`:  `{"limits":{"cpu":1.5},"requests":{"cpu":"1"}}`,
		`{limits: {cpu: 1e3, memory: .5}}`:             `{"limits":{"cpu":1000,"memory":0.5}}`,
		`{}`:                                           `{}`,
		`{limits: {}}`:                                 `{"limits":{}}`,
		"{limits: {cpu: ${CPUS}}, requests: {cpu: 1}}": `{"limits":{"cpu":4},"requests":{"cpu":1}}`,
	} {
		e := parsed(t, "nearfar: v1\nname: x\narms: {a: {kubernetes: {client: {resources: "+text+
			"}}}}\nworkloads: [{name: rr, tool: native}]\n", variables(map[string]string{"CPUS": "4"}))
		if got := string(e.Arms[0].Kubernetes.Client.Resources); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

// Texts that YAML reads only as escapes pass the checks of recorded experiments as well.
func TestPodsWithAnyText(t *testing.T) {
	for _, text := range []string{
		`\u0085`, `\u2028`, `\ufffe`, `\U0001f600`, `\x07\x7f`, "é", `\ufeff`, `<&>\\`, `\"`,
	} {
		e := parsed(t, "nearfar: v1\nname: x\narms: {a: {kubernetes: {client: {annotations: {x: \""+text+
			"\"}, affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [\""+text+
			"\"]}}}}}}\nworkloads: [{name: rr, tool: native}]\n", Inputs{})
		if err := e.CheckRunnable(testTools); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Experiments from run directories are not trusted: their pods are checked as those of files.
func TestRecordedPodsAreChecked(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "valid", "pods.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	good := func() *experiment.Experiment {
		e := parsed(t, string(file), testInputs(t, "valid", "pods"))
		record, err := json.MarshalIndent(e, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		var again experiment.Experiment
		if err := json.Unmarshal(record, &again); err != nil {
			t.Fatal(err)
		}
		return &again
	}
	e := good()
	if err := e.CheckRunnable(testTools); err != nil {
		t.Fatal(err)
	}
	for _, a := range e.Arms {
		if a.Kubernetes != nil && e.PodsOf(a.Name) == "" {
			t.Errorf("arm %s has no pods", a.Name)
		}
	}
	at := slices.IndexFunc(e.Arms, func(a experiment.Arm) bool { return a.Name == "pods" })
	k := func(e *experiment.Experiment) *experiment.Kubernetes { return e.Arms[at].Kubernetes }
	for name, change := range map[string]func(e *experiment.Experiment){
		"a lab too": func(e *experiment.Experiment) {
			e.Arms[at].Lab = &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Bridge}}, MTU: 1500}
		},
		"a host and a pod":     func(e *experiment.Experiment) { e.Arms[at].Client = "a" },
		"two hosts and pods":   func(e *experiment.Experiment) { e.Arms[at].Client, e.Arms[at].Server = "a", "a" },
		"no pods":              func(e *experiment.Experiment) { *k(e) = experiment.Kubernetes{} },
		"no client":            func(e *experiment.Experiment) { k(e).Client = nil },
		"a bad context":        func(e *experiment.Experiment) { k(e).Context = "a\nb" },
		"a bad namespace":      func(e *experiment.Experiment) { k(e).Namespace = "../x" },
		"bad nodes":            func(e *experiment.Experiment) { k(e).Nodes = "x" },
		"no nodes":             func(e *experiment.Experiment) { k(e).Nodes = "" },
		"a bad way":            func(e *experiment.Experiment) { k(e).Through = "x" },
		"no way":               func(e *experiment.Experiment) { k(e).Through = "" },
		"a bad policy":         func(e *experiment.Experiment) { k(e).Policy = "" },
		"a long wait":          func(e *experiment.Experiment) { k(e).Ready = 24 * time.Hour },
		"a negative wait":      func(e *experiment.Experiment) { k(e).Ready = -time.Second },
		"a bad node":           func(e *experiment.Experiment) { k(e).Client.Node = "N" },
		"a bad selector":       func(e *experiment.Experiment) { k(e).Client.NodeSelector["a b"] = "x" },
		"a bad label":          func(e *experiment.Experiment) { k(e).Client.Labels["x"] = "a b" },
		"a label of nearfar's": func(e *experiment.Experiment) { k(e).Client.Labels["nearfar/run"] = "x" },
		"a long annotation": func(e *experiment.Experiment) {
			k(e).Client.Annotations["x"] = strings.Repeat("a", 16<<10+1)
		},
		"a bad image":            func(e *experiment.Experiment) { k(e).Client.Image = "-x" },
		"no image":               func(e *experiment.Experiment) { k(e).Server.Image = "" },
		"a bad agent's image":    func(e *experiment.Experiment) { k(e).Client.AgentImage = "a b" },
		"a bad secret":           func(e *experiment.Experiment) { k(e).Client.ImagePullSecrets = []string{""} },
		"a bad class":            func(e *experiment.Experiment) { k(e).Client.RuntimeClass = "/" },
		"a bad system":           func(e *experiment.Experiment) { k(e).Client.OS = "" },
		"a bad interface":        func(e *experiment.Experiment) { k(e).Client.Interface = "-x/y" },
		"a bad port":             func(e *experiment.Experiment) { k(e).Client.Port = 22 },
		"a bad program":          func(e *experiment.Experiment) { k(e).Client.Tools["sh"] = "/bin/sh" },
		"a bad path":             func(e *experiment.Experiment) { k(e).Client.Tools["iperf3"] = "iperf3" },
		"an affinity of words":   func(e *experiment.Experiment) { k(e).Client.Affinity = json.RawMessage(`"x"`) },
		"an affinity of nothing": func(e *experiment.Experiment) { k(e).Client.Affinity = json.RawMessage(`null`) },
		"an unknown affinity":    func(e *experiment.Experiment) { k(e).Client.Affinity = json.RawMessage(`{"x":{}}`) },
		"bad tolerations":        func(e *experiment.Experiment) { k(e).Client.Tolerations = json.RawMessage(`{}`) },
		"bad resources": func(e *experiment.Experiment) {
			k(e).Client.Resources = json.RawMessage(`{"limits":{"cpu":"-1"}}`)
		},
		"resources of another kind": func(e *experiment.Experiment) {
			k(e).Client.Resources = json.RawMessage(`{"limits":["cpu"]}`)
		},
		"a list of quantities": func(e *experiment.Experiment) {
			k(e).Client.Resources = json.RawMessage(`{"limits":{"cpu":["1"]}}`)
		},
		"a key of no resource": func(e *experiment.Experiment) {
			k(e).Client.Resources = json.RawMessage(`{"limits":{"a b":"1"}}`)
		},
		"an unknown toleration": func(e *experiment.Experiment) {
			k(e).Client.Tolerations = json.RawMessage(`[{"x":"1"}]`)
		},
		"a rule of an affinity": func(e *experiment.Experiment) {
			k(e).Client.Affinity = json.RawMessage(`{"nodeAffinity":{"x":"1"}}`)
		},
		"nothing inside": func(e *experiment.Experiment) {
			k(e).Client.SecurityContext = json.RawMessage(`{"privileged":null}`)
		},
		"another order": func(e *experiment.Experiment) {
			k(e).Client.SecurityContext = json.RawMessage(`{"runAsUser":1,"privileged":true}`)
		},
		"another number": func(e *experiment.Experiment) {
			k(e).Client.SecurityContext = json.RawMessage(`{"runAsUser":1.0}`)
		},
		"too large a number": func(e *experiment.Experiment) {
			k(e).Client.SecurityContext = json.RawMessage(`{"runAsUser":1e999}`)
		},
		"a key twice": func(e *experiment.Experiment) {
			k(e).Client.SecurityContext = json.RawMessage(`{"runAsUser":1,"runAsUser":2}`)
		},
		"no tolerations": func(e *experiment.Experiment) { k(e).Client.Tolerations = json.RawMessage(`[]`) },
		"a pod's context": func(e *experiment.Experiment) {
			k(e).Client.SecurityContext = json.RawMessage(`{"fsGroup":1}`)
		},
		"too much": func(e *experiment.Experiment) {
			k(e).Client.Affinity = json.RawMessage(`{"nodeAffinity":{"` + strings.Repeat("x", 8<<20) + `":1}}`)
		},
		"a ping of a Service": func(e *experiment.Experiment) {
			k(e).Through, k(e).Client.Interface = experiment.ThroughClusterIP, ""
			e.Workloads[1] = experiment.Workload{Name: "ping", Tool: "ping", Mode: experiment.Ping,
				Protocol: experiment.ICMP, IP: experiment.IPv4, Request: 64, Duration: time.Second,
				Interval: 10 * time.Millisecond, Placement: experiment.Placement{Kind: experiment.PlacementSplit}}
		},
	} {
		e := good()
		if change(e); e.CheckRunnable(testTools) == nil {
			t.Errorf("%s is accepted: %s", name, fmt.Sprintf("%+v", k(e)))
		}
	}
	e = good()
	k(e).Client.Affinity = json.RawMessage(`{"nodeAffinity":{"` + strings.Repeat("x", 8<<20) + `":1}}`)
	if e.Check() == nil {
		t.Error("Check takes pods without a bound")
	}
}

// Pods that the reader accepts are the same after they were recorded and read again, and can be run.
func FuzzKubernetes(f *testing.F) {
	for _, folder := range []string{"valid", "wrong"} {
		for name, data := range examples(f, folder, 1) {
			if !strings.HasPrefix(name, "pods") {
				continue
			}
			for line := range strings.Lines(string(data)) {
				if _, value, found := strings.Cut(line, "kubernetes: "); found && len(value) < 1000 {
					f.Add(strings.TrimSuffix(strings.TrimSpace(value), "}"))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, value string) {
		file := "nearfar: v1\nname: x\narms: {a: {kubernetes: " + value + "}, b: {kubernetes: {}}}\n" +
			"workloads: [{name: rr, tool: native}]\n"
		e, err := ParseWith("fuzz.yaml", []byte(file), testTools, testInputs(t, "", ""))
		if err != nil {
			checkMistakes(t, []byte(file), err)
			return
		}
		record, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var again experiment.Experiment
		if err := json.Unmarshal(record, &again); err != nil {
			t.Fatal(err)
		}
		if err := again.CheckRunnable(testTools); err != nil {
			t.Errorf("Parse takes what CheckRunnable refuses: %v", err)
		}
		twice, err := json.Marshal(&again)
		if diff := cmp.Diff(string(record), string(twice)); diff != "" || err != nil {
			t.Errorf("recorded and read again (-want +got):\n%s", diff)
		}
		for i, a := range e.Arms {
			if e.PodsOf(a.Name) != again.PodsOf(a.Name) || e.HostsOf(a.Name) != again.HostsOf(a.Name) {
				t.Errorf("arm %s has other pods or hosts after it was recorded", a.Name)
			}
			if a.Kubernetes != nil && (a.HostsText() == "" || a.HostsText() != again.Arms[i].HostsText()) {
				t.Errorf("arm %s is %q", a.Name, a.HostsText())
			}
		}
	})
}
