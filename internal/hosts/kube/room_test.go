package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/declare/experiment"
)

// aNode is a node with two CPUs.
func aNode(name string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelOS: "linux"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"),
			corev1.ResourcePods: resource.MustParse("10"),
		}},
	}
	if change != nil {
		change(n)
	}
	return n
}

// others is a pod of somebody else on a node.
func others(node, cpu string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "else"},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// TestRoom: what cannot work is said before anything is made, and what is not surely so is not an error.
func TestRoom(t *testing.T) {
	on := func(node, resources string) *experiment.Pod {
		p := linuxPod()
		p.Node, p.Resources = node, []byte(resources)
		return p
	}
	whole := `{"requests":{"cpu":"1"}}`
	for _, c := range []struct {
		name           string
		client, server *experiment.Pod
		nodes          []*corev1.Node
		other          *corev1.Pod
		denied         []string
		wrong, note    string
	}{
		{name: "fits", client: on("n1", ""), server: on("n2", "")},
		{name: "no such node", client: on("n1", ""), server: on("n9", ""),
			wrong: "arm a: there is no node n9 in context lab; there are n1, n2"},
		{name: "cordoned", client: on("n1", ""), server: on("n2", ""),
			nodes: []*corev1.Node{aNode("n1", nil), aNode("n2", func(n *corev1.Node) { n.Spec.Unschedulable = true })},
			wrong: "node n2 takes no new pods"},
		{name: "others have it", client: on("n1", whole), server: on("n2", whole),
			other: others("n1", "1500m", corev1.PodRunning),
			wrong: "node n1 has no room: this experiment asks there for 1 of cpu, in 1 pods, and 500m of 2 are free"},
		{name: "others have ended", client: on("n1", whole), server: on("n2", whole),
			other: others("n1", "1500m", corev1.PodSucceeded)},
		{name: "the default fits beside others", client: on("n1", ""), server: on("n2", ""),
			other: others("n1", "1500m", corev1.PodRunning)},
		{name: "no right to see nodes", client: on("n1", ""), server: on("n9", ""), denied: []string{"list nodes"}},
		{name: "anywhere, no room", client: on("", `{"requests":{"cpu":"3"}}`), server: on("", ""),
			note: "arm a: the client's pod: no node has room for what it asks for"},
		{name: "anywhere, no label", client: func() *experiment.Pod {
			p := linuxPod()
			p.NodeSelector = map[string]string{"pool": "fast"}
			return p
		}(), server: on("", ""), note: "arm a: the client's pod: no node has the labels"},
		{name: "a taint", client: on("", ""), server: on("", ""),
			nodes: []*corev1.Node{aNode("n1", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
			})}, note: "only taints that it tolerates"},
		{name: "a tolerated taint", client: func() *experiment.Pod {
			p := linuxPod()
			p.Tolerations = []byte(`[{"key":"dedicated","operator":"Exists"}]`)
			return p
		}(), server: on("n2", ""),
			nodes: []*corev1.Node{aNode("n2", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
			})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, client := fakeCluster(nil)
			if c.nodes == nil {
				c.nodes = []*corev1.Node{aNode("n1", nil), aNode("n2", nil)}
			}
			for _, n := range c.nodes {
				if err := client.Tracker().Add(n); err != nil {
					t.Fatal(err)
				}
			}
			if c.other != nil {
				if err := client.Tracker().Add(c.other); err != nil {
					t.Fatal(err)
				}
			}
			deny(client, c.denied...)
			var told notes
			s := plan(t, testRun(), between("a", experiment.ThroughPod, c.client, c.server))[0]
			err := cluster.checkRoom(t.Context(), s, told.add)
			switch {
			case c.wrong == "" && err != nil:
				t.Errorf("error %v", err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("error %v, want %q", err, c.wrong)
			case !strings.Contains(told.String(), c.note) || c.note == "" && told.String() != "":
				t.Errorf("told %q, want %q", told.String(), c.note)
			}
		})
	}
}

// TestNothingIsMadeForANodeThatDoesNotExist: the mistake costs no pod.
func TestNothingIsMadeForANodeThatDoesNotExist(t *testing.T) {
	cluster, client := fakeCluster(nil)
	if err := client.Tracker().Add(aNode("n1", nil)); err != nil {
		t.Fatal(err)
	}
	server := linuxPod()
	server.Node = "n9"
	d := cluster.New(plan(t, testRun(), between("a", experiment.ThroughPod, linuxPod(), server))[0], func(string) {})
	if err := d.Make(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no node n9") {
		t.Errorf("error %v", err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() == "create" && a.GetResource().Resource != "selfsubjectaccessreviews" {
			t.Errorf("created %s", a.GetResource().Resource)
		}
	}
}
