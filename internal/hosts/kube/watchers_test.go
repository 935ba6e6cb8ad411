package kube

import (
	"bytes"
	"errors"
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
	all := d.MakeWatchers(t.Context())
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
	w := d.MakeWatchers(t.Context())["n1"]
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
		if s.watched() != nil || s.watcherText() != "" || s.Level == Privileged {
			t.Errorf("%v %s", s.watched(), s.Level)
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
