package kube

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"nearfar/internal/declare/experiment"
)

func watchedRun() Run {
	r := testRun()
	r.Wire = true
	return r
}

// TestWatchers: one pod on each node watches, it is no pod of an arm, and it is removed with the others.
func TestWatchers(t *testing.T) {
	c, client := fakeCluster(nil)
	arm := between("a", experiment.ThroughClusterIP, linuxPod(), linuxPod())
	d := c.New(plan(t, watchedRun(), arm)[0], func(string) {})
	if d.Set.Level != Privileged {
		t.Errorf("the namespace has the level %s", d.Set.Level)
	}
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := d.MakeWireWatchers(t.Context())
	if len(all) != 1 || all["n1"].Pod == "" || all["n1"].Problem != "" {
		t.Fatalf("%+v", all)
	}
	pod, err := client.CoreV1().Pods(d.Set.Namespace).Get(t.Context(), all["n1"].Pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	capabilities := pod.Spec.Containers[0].SecurityContext.Capabilities
	if !pod.Spec.HostNetwork || len(capabilities.Add) != 1 || capabilities.Add[0] != "NET_RAW" ||
		len(capabilities.Drop) != 1 || pod.Spec.Tolerations[0].Operator != corev1.TolerationOpExists {
		t.Errorf("%+v", pod.Spec)
	}
	if facts := d.Facts(t.Context()); len(facts) != 2 {
		t.Errorf("facts of %d pods", len(facts))
	}
	d.Set.Made = false // the store has no namespace controller
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	left, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("left: %v %v", left.Items, err)
	}
}

// TestRefusedWatchers: a cluster that refuses the watchers still runs the arms, and the reason is known.
func TestRefusedWatchers(t *testing.T) {
	c, client := fakeCluster(nil)
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		if !pod.Spec.HostNetwork {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name,
			errors.New(`violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`))
	})
	arm := between("a", experiment.ThroughPod, linuxPod(), linuxPod())
	arm.Kubernetes.Namespace = "perf"
	d := c.New(plan(t, watchedRun(), arm)[0], func(string) {})
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := d.MakeWireWatchers(t.Context())["n1"]
	if w.Pod != "" || !strings.Contains(w.Problem, "node n1 cannot be watched") ||
		!strings.Contains(w.Problem, "level of Pod Security") {
		t.Errorf("%+v", w)
	}
}

// TestNoWatchers: without an expected encapsulation, and for pods on Windows, nothing more is made.
func TestNoWatchers(t *testing.T) {
	windows := &experiment.Pod{OS: experiment.PodWindows, Image: "r.example/w:1"}
	for _, s := range []*Set{
		plan(t, testRun(), between("a", experiment.ThroughPod, linuxPod(), linuxPod()))[0],
		plan(t, watchedRun(), between("a", experiment.ThroughPod, linuxPod(), windows))[0],
	} {
		if s.watcherTexts() != nil || s.Level == Privileged {
			t.Errorf("%v %s", s.watcherTexts(), s.Level)
		}
	}
}

// TestPrintedWatcher: the plan shows the pod, and why it needs what it needs.
func TestPrintedWatcher(t *testing.T) {
	var out bytes.Buffer
	sets := plan(t, watchedRun(), between("a", experiment.ThroughPod, linuxPod(), linuxPod()))
	if err := Print(&out, sets); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"an arm expects an encapsulation", "# On each NODE", "name: nearfar-abcdefgh-w1-wire", "- NET_RAW", "- NODE",
		"hostNetwork: true",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the plan has no %q", part)
		}
	}
}

// kernelWatched is an arm that asks for pods that watch kernels.
func kernelWatched(name string) experiment.Arm {
	arm := between(name, experiment.ThroughPod, linuxPod(), linuxPod())
	arm.Kubernetes.WatchKernel = true
	return arm
}

func insideRun() Run {
	r := testRun()
	r.Inside = true
	return r
}

// TestKernelWatchers: the pods that watch kernels have two capabilities, and nothing of their node.
func TestKernelWatchers(t *testing.T) {
	c, client := fakeCluster(nil)
	d := c.New(plan(t, insideRun(), kernelWatched("a"))[0], func(string) {})
	if d.Set.Level != Privileged || len(d.Set.Why) != 1 || !strings.Contains(d.Set.Why[0], "CAP_BPF and CAP_PERFMON") {
		t.Errorf("the namespace has the level %s, because %q", d.Set.Level, d.Set.Why)
	}
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wire := d.MakeWireWatchers(t.Context()); wire != nil {
		t.Errorf("nobody asked for %+v", wire)
	}
	all := d.MakeKernelWatchers(t.Context())
	if len(all) != 1 || all["n1"].Pod != "nearfar-abcdefgh-k1-kernel" {
		t.Fatalf("%+v", all)
	}
	pod, err := client.CoreV1().Pods(d.Set.Namespace).Get(t.Context(), all["n1"].Pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, own := pod.Spec, pod.Spec.Containers[0].SecurityContext
	if s.HostNetwork || s.HostPID || s.HostIPC || len(s.Volumes) != 1 || s.Volumes[0].EmptyDir == nil ||
		*s.AutomountServiceAccountToken {
		t.Errorf("the pod has something of its node, or a token: %+v", s)
	}
	wanted := &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"BPF", "PERFMON"}}
	if !reflect.DeepEqual(own.Capabilities, wanted) || own.Privileged != nil || *own.AllowPrivilegeEscalation ||
		*own.RunAsUser != 0 || s.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the container has %+v", own)
	}
	if facts := d.Facts(t.Context()); len(facts) != 2 {
		t.Errorf("facts of %d pods", len(facts))
	}
}

// TestNobodyAskedForKernelWatchers: a workload that is watched is not enough, and neither is the key without one.
func TestNobodyAskedForKernelWatchers(t *testing.T) {
	for name, s := range map[string]*Set{
		"no key":    plan(t, insideRun(), between("a", experiment.ThroughPod, linuxPod(), linuxPod()))[0],
		"no inside": plan(t, testRun(), kernelWatched("a"))[0],
	} {
		if s.watcherTexts() != nil || s.Level != Restricted {
			t.Errorf("%s: %v %s", name, s.watcherTexts(), s.Level)
		}
	}
	one := plan(t, insideRun(), kernelWatched("a"), between("b", experiment.ThroughPod, linuxPod(), linuxPod()))[0]
	if arms := kernelWatchers().arms(one); len(arms) != 1 || arms[0] != "a" {
		t.Errorf("watchers for the arms %v", arms)
	}
	if one.Uses["a"].Client != one.Uses["b"].Client {
		t.Error("arms that differ in watchers alone have pods of their own")
	}
}

// TestPrintedKernelWatcher: the plan shows the pod and its capabilities, and says what it is for.
func TestPrintedKernelWatcher(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, plan(t, insideRun(), kernelWatched("a"))); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"watchKernel: on each node with a pod of the arms a", "needs the level privileged", "- BPF", "- PERFMON",
		"name: nearfar-abcdefgh-k1-kernel", "# On each NODE",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the plan has no %q:\n%s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "hostNetwork") || strings.Contains(out.String(), "NET_RAW") {
		t.Errorf("the pod has more than it needs:\n%s", out.String())
	}
}
