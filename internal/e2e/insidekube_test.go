//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/inside"
	declared "nearfar/internal/declare/inside"
)

// watchedKube are the ways between two pods whose elements differ. The nodes are joined by the control plane's bridge.
// Another run on them can have the default port.
var watchedKube = strings.NewReplacer("HOST", "{hostNetwork: true, resources: {}, port: 7930}",
	"VXLAN", "{runtimeClassName: vxlan, resources: {}}", "POD", "{resources: {}}").Replace(`
nearfar: v1
name: inside-kube
baseline: node
arms:
  node: {kubernetes: {client: HOST, server: HOST, watchKernel: true}, layers: {}}
  pod: {kubernetes: {client: POD, server: POD, watchKernel: true}, layers: {overlay: 1}}
  service:
    kubernetes: {client: POD, server: POD, through: ClusterIP, watchKernel: true}
    layers: {overlay: 1, service: 1}
  vxlan: {kubernetes: {client: VXLAN, server: VXLAN, watchKernel: true}, layers: {vxlan: 1}}
  unasked: {kubernetes: {client: POD, server: POD}, layers: {overlay: 1}}
workloads: [{name: rr, tool: native, mode: rr, inside: true, request: 64B, duration: 300ms, warmup: 50ms}]
schedule: {blocks: 3, seed: 1}
`)

// watchedKernels watches round trips between pods of two nodes, from pods that may watch the nodes' kernels: the
// elements of each way are seen in their places and order, those of the overlay with the network that it names. The
// nodes are namespaces of one kernel, which sees whole round trips.
func (r *kubeRig) watchedKernels() {
	t := r.t
	needsWatching(t)
	wantAskedFor(t, r.dir)
	p := r.start(watchedKube)
	a := p.answer(t)
	r.nothingLeftOf(a)
	const asked = "watchKernel: on each node with a pod of the arms node, pod, service, vxlan comes a pod"
	if !strings.Contains(p.said(), asked) {
		t.Errorf("the run does not say which pods it makes:\n%s", p.said())
	}
	client, server := podsOf(t, a).Pods["node/client"].Node, podsOf(t, a).Pods["node/server"].Node
	middle := bridged("namespace 1")
	ways := map[string][]string{
		"node": wayOf([]hop{middle}),
		"pod":  wayOf([]hop{routed(client), middle, routed(server)}),
		"vxlan": wayOf([]hop{
			hopOf(client, intoTunnel(), outOfTunnel()), middle, hopOf(server, outOfTunnel(), intoTunnel()),
		}),
	}
	ways["service"] = ways["pod"]
	in := insideOf(t, a)
	for _, arm := range in.Arms {
		if arm.Arm == "unasked" {
			if len(arm.Machines) > 0 || len(arm.Problems) != 1 || !strings.Contains(arm.Problems[0].Text, "CAP_BPF") {
				t.Errorf("nobody asked for watchers of this arm, and it has %+v", arm)
			}
			continue
		}
		arm.Problems = slices.DeleteFunc(arm.Problems, nothingFollowed)
		wrong := wantSeen(t, withoutBacklog(arm), ways[arm.Arm])
		if len(wrong) > 0 {
			t.Error(wrong)
		}
		wantVNI(t, arm)
	}
	wantOverlaysOwn(t, in, client, server)
	for _, format := range []string{"terminal", "markdown"} {
		text := string(nearfar(t, p.cmd.Dir, nil, "inside", "-f", format, onlyRun(t, p.cmd.Dir)+":vxlan"))
		text = strings.ReplaceAll(text, `\`, "") // before what Markdown would read as its own
		for _, part := range []string{
			"encapsulate vxlan0 [vxlan, VNI 1] in " + client, "decapsulate eth0 [VNI 1] in " + server,
		} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), part) {
				t.Errorf("%s has no %q:\n%s", format, part, text)
			}
		}
	}
}

// intoTunnel and outOfTunnel are the ways of a node that routes its pods' packets into VXLAN.
func intoTunnel() []string {
	return []string{"softirq", "forward", "queue", "encapsulate", "queue", "device"}
}

func outOfTunnel() []string {
	return []string{"softirq", "decapsulate", "forward", "queue", "device"}
}

// nothingFollowed is the problem of a trial whose pods had a CPU for so little of its window that no round trip was
// followed in it. The arm's other trials show its way.
func nothingFollowed(p inside.Problem) bool {
	return strings.HasSuffix(p.Text, ", of 0 that were followed")
}

// withoutBacklog leaves out what follows the decapsulation at a tunnel's device: a CPU's backlog, or GRO.
func withoutBacklog(arm inside.Arm) inside.Arm {
	arm.Machines = slices.Clone(arm.Machines)
	for i, m := range arm.Machines {
		arm.Machines[i].Elements = slices.DeleteFunc(slices.Clone(m.Elements), func(e inside.Element) bool {
			return (e.Kind == declared.Softirq || e.Kind == declared.GRO) && e.DeviceKind == "vxlan"
		})
	}
	return arm
}

// wantVNI wants the elements of the tunnel, and no others, to name its network.
func wantVNI(t *testing.T, arm inside.Arm) {
	t.Helper()
	for _, m := range arm.Machines {
		for _, e := range m.Elements {
			want := ""
			if e.Kind == declared.Encapsulate || e.Kind == declared.Decapsulate {
				want = "VNI 1"
			}
			if e.Tunnel != want {
				t.Errorf("%s: %s names the network %q, want %q", arm.Arm, inside.Name(e.Step), e.Tunnel, want)
			}
		}
	}
}

// wantOverlaysOwn wants the elements of the overlay among those that only its arm has: on both nodes, in both
// directions, each with a time.
func wantOverlaysOwn(t *testing.T, in inside.Inside, client, server string) {
	t.Helper()
	x := against(t, in, "vxlan")
	for _, want := range []declared.Step{
		{Way: declared.Request, Kind: declared.Encapsulate, Place: client},
		{Way: declared.Request, Kind: declared.Decapsulate, Place: server},
		{Way: declared.Reply, Kind: declared.Encapsulate, Place: server},
		{Way: declared.Reply, Kind: declared.Decapsulate, Place: client},
	} {
		at := slices.IndexFunc(x.Elements, func(c inside.Change) bool {
			return c.Way == want.Way && c.Kind == want.Kind && c.Place == want.Place
		})
		if at < 0 {
			t.Errorf("the overlay has no %s: %+v", inside.Name(want), x.Elements)
			continue
		}
		c := x.Elements[at]
		t.Logf("%s: %+.2f us", inside.Name(c.Step), c.Median*1e6)
		if c.Only != inside.OnlyArm || c.Median <= 0 {
			t.Errorf("%s is not the overlay's own: %+v", inside.Name(want), c)
		}
	}
}

// wantAskedFor wants validate and a plan to say which pods with more rights a run makes.
func wantAskedFor(t *testing.T, dir string) {
	t.Helper()
	file := write(t, dir, watchedKube)
	for verb, want := range map[string][]string{
		"validate": {"asks for a pod on each node with CAP_BPF and CAP_PERFMON"},
		"run":      {"watchKernel: on each node", "needs the level privileged", "- BPF", "- PERFMON"},
	} {
		args := []string{verb, file}
		if verb == "run" {
			args = append(args, "--dry-run")
		}
		said := string(nearfar(t, dir, nil, args...))
		for _, part := range want {
			if !strings.Contains(said, part) {
				t.Errorf("nearfar %s does not say %q:\n%s", strings.Join(args, " "), part, said)
			}
		}
	}
}

// refusedKernels: a namespace that does not admit the pods gets a run all the same, which says why nothing is known.
func (r *kubeRig) refusedKernels() {
	t := r.t
	needsWatching(t)
	r.Kubectl("create", "namespace", "strict")
	r.Kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
	a := r.start(`
nearfar: v1
name: refused
arms:
  pods: {kubernetes: {namespace: strict, client: {resources: {}}, server: {resources: {}}, watchKernel: true}}
workloads: [{name: rr, tool: native, mode: rr, inside: true, request: 64B, duration: 300ms, warmup: 50ms}]
schedule: {blocks: 2, seed: 1}
`).answer(t)
	r.nothingLeftOf(a)
	arm := insideOf(t, a).Arms[0]
	if len(arm.Machines) > 0 || len(arm.Problems) != 1 || arm.Problems[0].Trials != 2 {
		t.Fatalf("something was seen: %+v", arm)
	}
	for _, part := range []string{"cannot be watched", "level of Pod Security"} {
		if got := arm.Problems[0].Text; !strings.Contains(got, part) {
			t.Errorf("the problem %q has no %q", got, part)
		}
	}
	wantWarning(t, a, "inside-unknown", "cannot be watched")
	if a.Trials-a.Failed != 2 || arm.Plain == nil || arm.Reported == nil {
		t.Errorf("the figures of the tool are missing: %+v", arm)
	}
}
