//go:build linux

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/declare/check"
	"nearfar/internal/kits/kubetest"
)

// agentImage is the image of the agent, which the tests load into their clusters.
const agentImage = "registry.test/nearfar-agent:1"

// loadAgentImage makes the image of the agent and loads it on all nodes.
func (r *kubeRig) loadAgentImage() {
	r.t.Helper()
	archive := filepath.Join(r.dir, "agent.tar")
	nearfar(r.t, r.dir, nil, "image", "-o", archive, "--name", agentImage, "--platform", "linux/"+runtime.GOARCH)
	r.LoadImage(archive)
}

// TestKubernetes runs experiments in a real cluster. They judge no figures, and share the cluster at the same time.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	r := newKubeRig(t, kubetest.Options{})
	r.loadAgentImage()
	r.loadJobImage()
	tests := map[string]func(*testing.T){}
	for name, test := range map[string]func(r *kubeRig){
		"paths": (*kubeRig).paths, "images": (*kubeRig).images, "mixed": (*kubeRig).mixed,
		"two runs": (*kubeRig).twoRuns, "load balancer": (*kubeRig).loadBalancer, "proxy": (*kubeRig).proxy,
		"encapsulation": (*kubeRig).encapsulation, "policies": (*kubeRig).policies, "inside": (*kubeRig).inside,
		"no rights": (*kubeRig).withoutRights, "jobs": (*kubeRig).jobs,
		"plugin": (*kubeRig).plugin, "watched kernels": (*kubeRig).watchedKernels,
		"refused kernels": (*kubeRig).refusedKernels,
	} {
		tests[name] = func(t *testing.T) { test(r.in(t)) }
	}
	together(t, runsBesideEachOther, tests)
}

// podPaths are all ways from a pod to another one. Their pods share two nodes. A pod of the default size would not fit
// beside the others on the test's nodes.
const podPaths = `
nearfar: v1
name: paths
baseline: node
arms:
  node: {kubernetes: {client: NODE, server: NODE}, layers: {}, expect: {different-nodes: true}}
  pods: {kubernetes: {client: POD, server: POD}, layers: {overlay: 1}}
  cluster-ip: {kubernetes: {client: POD, server: POD, through: ClusterIP}, layers: {overlay: 1, service: 1}}
  node-port: {kubernetes: {client: POD, server: POD, through: NodePort}, layers: {overlay: 1, service: 1}}
  headless: {kubernetes: {client: POD, server: POD, through: headless}, layers: {overlay: 1}}
  vxlan: {kubernetes: {client: VXLAN, server: VXLAN}, layers: {vxlan: 1}}
  same: {kubernetes: {client: POD, server: POD, nodes: same}, layers: {bridge: 1}, expect: {same-node: true}}
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 200ms, warmup: 50ms}]
schedule: {blocks: 3, seed: 1}
`

// paths measures all ways between two pods.
func (r *kubeRig) paths() {
	t := r.t
	a := r.start(strings.NewReplacer("NODE", "{hostNetwork: true, resources: {}}",
		"VXLAN", "{runtimeClassName: vxlan, resources: {}}", "POD", "{resources: {}}").Replace(podPaths)).answer(t)
	r.nothingLeftOf(a)
	pods := podsOf(t, a)
	client, server := pods.Pods["node/client"].Node, pods.Pods["node/server"].Node
	if client == server {
		t.Errorf("client and server are on node %s", client)
	}
	for name, pod := range pods.Pods {
		want := client
		if strings.HasSuffix(name, "/server") {
			want = server
		}
		if pod.Node != want && !strings.HasPrefix(name, "same/") {
			t.Errorf("%s is on node %s, want %s", name, pod.Node, want)
		}
		if pod.Zone == "" || pod.Kernel == "" || pod.Runtime == "" {
			t.Errorf("%s: %+v", name, pod)
		}
	}
	if pods.Pods["same/client"].Node != pods.Pods["same/server"].Node {
		t.Errorf("the pods of arm same are on %+v", pods.Pods)
	}
	for _, p := range a.Proof {
		if p.Outcome != check.Proved {
			t.Errorf("%+v", p)
		}
	}
	record := recordOf(t, a)
	for _, trial := range trials(t, a) {
		wantNodes(t, record, trial, trial.Arm == "same")
	}
	for _, arm := range []string{"node", "pods", "cluster-ip", "node-port", "headless", "vxlan", "same"} {
		// On a busy machine a trial can have too few round trips for a percentile.
		t.Logf("%-10s %6.1f us to %+v", arm, 1e6*meanOfTrials(t, a, arm, "rr"), pods.Arms[arm])
	}
}

// agentImages is a run whose agents come from images: in one arm the image of the agent alone, in the other an image
// without any file.
const agentImages = `
nearfar: v1
name: images
arms:
  alone: {kubernetes: {namespace: restricted, client: ALONE, server: ALONE}}
  carried: {kubernetes: {namespace: restricted, client: CARRIED, server: CARRIED}}
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 100ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`

// images: pods in images without a shell measure, in a namespace that enforces Pod Security restricted.
func (r *kubeRig) images() {
	t := r.t
	r.Kubectl("create", "namespace", "restricted")
	r.Kubectl("label", "namespace", "restricted", "pod-security.kubernetes.io/enforce=restricted")
	begun := time.Now()
	p := r.start(strings.NewReplacer("ALONE", "{agentImage: \""+agentImage+"\", resources: {}}", "CARRIED",
		"{agentImage: \""+agentImage+"\", image: \""+kubetest.Empty+"\", resources: {}}").Replace(agentImages))
	if !p.until(t, "trial 1/") {
		t.Fatalf("it ended before the first trial\n%s", p.said())
	}
	t.Logf("the first trial had ended after %.1f s", time.Since(begun).Seconds())
	a := p.answer(t)
	for name, pod := range podsOf(t, a).Pods {
		if len(pod.Sidecars) > 0 || pod.QoS != "BestEffort" {
			t.Errorf("%s: %+v", name, pod)
		}
	}
	r.nothingLeftOf(a)
}

// unwatchedPods is a run of a watched workload between two pods, which may not watch the kernel.
const unwatchedPods = `
nearfar: v1
name: unwatched
arms:
  pods: {kubernetes: {client: {resources: {}}, server: {resources: {}}}}
workloads: [{name: rr, tool: native, mode: rr, inside: true, request: 64B, duration: 500ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`

// withoutRights: what happens inside the path of pods is unknown, and all else is as ever.
func (r *kubeRig) withoutRights() {
	a := r.start(unwatchedPods).answer(r.t)
	wantNoFailures(r.t, a)
	wantUnknown(r.t, a)
	r.nothingLeftOf(a)
}

// mixedPods is a run between this machine and pods, in both directions, and through a port of a node.
const mixedPods = `
nearfar: v1
name: mixed
hosts:
  here: {local: {}}
arms:
  to-pod: {client: here, kubernetes: {server: {node: n1, resources: {}}}}
  from-pod: {server: here, kubernetes: {client: {node: n1, resources: {}}}}
  to-port: {client: here, kubernetes: {server: {node: n1, resources: {}}, through: NodePort}}
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 100ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`

// mixed: one side of an arm is a pod, the other one a host of the file.
func (r *kubeRig) mixed() {
	a := r.startInside(mixedPods).answer(r.t)
	for _, trial := range trials(r.t, a) {
		side := "server"
		if trial.Arm == "from-pod" {
			side = "client"
		}
		if trial.Facts[side+".node"] != "n1" || trial.Facts[side+".pod"] == "" {
			r.t.Errorf("trial %d of %s has the facts %v", trial.Trial, trial.Arm, trial.Facts)
		}
	}
	r.nothingLeftOf(a)
}

// twoRuns: runs at the same time do not touch each other's objects, also in one namespace.
func (r *kubeRig) twoRuns() {
	r.Kubectl("create", "namespace", "shared")
	var runs []*kubeRun
	for range 2 {
		runs = append(runs, r.start(podRun("namespace: shared,", 5)))
	}
	runs = append(runs, r.start(podRun("", 5)))
	for _, p := range runs {
		r.nothingLeftOf(p.answer(r.t))
	}
	r.Kubectl("get", "namespace", "shared")
}

// balancedPods is a run through load balancers, from a pod and from a machine beside the cluster.
const balancedPods = `
nearfar: v1
name: balanced
hosts:
  here: {local: {}, port: 7900}
arms:
  from-pod: {kubernetes: {client: {resources: {}}, server: {resources: {}}, through: LoadBalancer}}
  from-here: {client: here, kubernetes: {server: {resources: {}}, through: LoadBalancer}}
workloads:
  - {name: rr, tool: native, mode: rr, request: 64B, duration: 100ms, warmup: 50ms}
  - {name: datagrams, tool: native, mode: rr, protocol: udp, request: 64B, duration: 100ms, warmup: 50ms}
schedule: {blocks: 2, seed: 1}
`

// loadBalancer: arms through a Service of the type LoadBalancer. The test does what the controller of a cloud does: it
// leads addresses to a node, and writes them into the status of the Services. kube-proxy serves them.
func (r *kubeRig) loadBalancer() {
	t := r.t
	addresses := []string{"203.0.113.7", "203.0.113.8"}
	for _, address := range addresses {
		add := r.Command(t.Context(), "ip", "route", "add", address+"/32", "via", r.Node("n1").Address)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p := r.startInside(balancedPods)
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- r.giveAddresses(ctx, addresses) }()
	<-p.ended
	cancel()
	if err := <-given; err != nil {
		t.Fatalf("%v\n%s", err, p.said())
	}
	a := p.answer(t)
	dialled := map[string]bool{}
	for _, arm := range []string{"from-pod", "from-here"} {
		use := podsOf(t, a).Arms[arm]
		t.Logf("%s dialled %+v", arm, use)
		dialled[use.Address.String()] = true
		if use.Through != "LoadBalancer" || use.Service == "" {
			t.Errorf("arm %s used %+v", arm, use)
		}
	}
	for _, address := range addresses {
		if !dialled[address] {
			t.Errorf("no arm dialled %s: %v", address, dialled)
		}
	}
	r.nothingLeftOf(a)
}

// giveAddresses gives each Service of the type LoadBalancer an address, until all addresses are given.
func (r *kubeRig) giveAddresses(ctx context.Context, addresses []string) error {
	client, err := kubeClient(r.kubeconfig)
	if err != nil {
		return err
	}
	for {
		list, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if ctx.Err() != nil {
			return fmt.Errorf("no Service took the addresses %v", addresses)
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			s := &list.Items[i]
			if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 {
				continue
			}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: addresses[0]}}
			_, err := client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
			switch {
			case apierrors.IsConflict(err):
				continue // somebody else changed it; the next look sees how
			case err != nil:
				return err
			}
			if addresses = addresses[1:]; len(addresses) == 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// proxy: exec streams go over SPDY if a proxy before the API server refuses WebSockets.
func (r *kubeRig) proxy() {
	proxy := r.Proxy()
	r.kubeconfig = proxy.Kubeconfig
	a := r.start(podRun("", 2)).answer(r.t)
	r.nothingLeftOf(a)
	refused, used := proxy.Upgrades("websocket"), proxy.Upgrades("spdy/3.1")
	r.t.Logf("%d streams over SPDY, %d WebSockets refused", used, refused)
	// Each of the two pods has a stream for the copy of the agent, and one to the agent.
	if refused < 4 || used < 4 {
		r.t.Errorf("%d streams over SPDY, %d WebSockets refused", used, refused)
	}
}
