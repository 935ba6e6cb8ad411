//go:build linux

package kube

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/kits/kubetest"
)

// refusing are namespaces that refuse pods.
const refusing = `
apiVersion: v1
kind: Namespace
metadata: {name: restricted, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Namespace
metadata: {name: full}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: one, namespace: full}
spec: {hard: {pods: "1"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: narrow}
---
apiVersion: v1
kind: LimitRange
metadata: {name: half, namespace: narrow}
spec: {limits: [{type: Container, max: {cpu: 500m}}]}
`

// refusals: why the pods of a real cluster do not become ready, and that nothing is left.
func (r *rig) refusals(t *testing.T) {
	pod := func(change func(*experiment.Pod)) *experiment.Pod {
		p := small(experiment.DefaultPodImage)
		if change != nil {
			change(p)
		}
		return p
	}
	for _, c := range []struct {
		name, namespace string
		server          *experiment.Pod
		// says are parts of the error; none for pods that become ready.
		says []string
	}{
		{"restricted", "restricted", pod(nil), nil},
		{"host network in restricted", "restricted", pod(func(p *experiment.Pod) { p.HostNetwork = true }),
			[]string{"the namespace's level of Pod Security does not admit the pod", "hostNetwork"}},
		{"quota", "full", pod(nil), []string{"the namespace's quota is used up", "exceeded quota: one"}},
		{"limit range", "narrow", pod(func(p *experiment.Pod) { p.Resources = []byte(`{"limits":{"cpu":"1"}}`) }),
			[]string{"the namespace's LimitRange does not admit the pod's resources"}},
		{"no namespace", "missing", pod(nil), []string{"there is no namespace missing"}},
		{"no such node", "", pod(func(p *experiment.Pod) { p.Node = "n9" }),
			[]string{"arm a: there is no node n9 in context", "there are n1, n2"}},
		{"no room on the node", "", pod(func(p *experiment.Pod) {
			p.Node, p.Resources = "n2", []byte(`{"requests":{"cpu":"64"}}`)
		}), []string{"node n2 has no room: this experiment asks there for 64 of cpu, in 1 pods"}},
		{"too large", "", pod(func(p *experiment.Pod) { p.Resources = []byte(`{"requests":{"cpu":"64"}}`) }),
			[]string{"p1-server: no node fits", "Insufficient cpu", "set resources:"}},
		{"no such image", "", pod(func(p *experiment.Pod) { p.Image = "127.0.0.1:1/none:1" }),
			[]string{"p1-server: the image 127.0.0.1:1/none:1 cannot be pulled"}},
		{"no shell", "", pod(func(p *experiment.Pod) { p.Image = kubetest.Empty }),
			[]string{"p1-server: the image has no shell", "name an agentImage"}},
		{"no priority class", "", pod(func(p *experiment.Pod) { p.PriorityClass = "none" }),
			[]string{"making pod", "PriorityClass"}},
		{"no such scheduler", "", pod(func(p *experiment.Pod) { p.Scheduler = "none" }),
			[]string{"p1-server: the scheduler none has not looked at it yet", "schedulerName"}},
		{"no runtime class", "", pod(func(p *experiment.Pod) { p.RuntimeClass = "none" }),
			[]string{"making pod", "RuntimeClass"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			arm := between("a", experiment.ThroughPod, pod(nil), c.server)
			arm.Kubernetes.Namespace, arm.Kubernetes.Ready = c.namespace, 8*time.Second
			if c.says == nil {
				arm.Kubernetes.Ready = time.Minute
			}
			d := r.cluster.New(plan(t, realRun(), arm)[0], func(text string) { t.Log(text) })
			begun := time.Now()
			err := d.Make(t.Context())
			t.Logf("%.1f s: %v", time.Since(begun).Seconds(), err)
			if (err == nil) != (c.says == nil) {
				t.Errorf("got %v", err)
			}
			for _, part := range c.says {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if err := d.Remove(); err != nil {
				t.Error(err)
			}
			r.left(t, d.Set)
		})
	}
}

// rights: a user with exactly the documented rights can make and remove everything. Without any one of them, the
// message names it.
func (r *rig) rights(t *testing.T) {
	for _, namespace := range []string{"perf", ""} {
		pod := small(experiment.DefaultPodImage)
		arm := between("a", experiment.ThroughClusterIP, pod, pod)
		arm.Kubernetes.Namespace = namespace
		planned := plan(t, realRun(), arm)[0]
		// A Role holds in its namespace; nearfar's rights beyond it are optional.
		user := func(name string, without Right) *Cluster {
			var rules []kubetest.Rule
			for _, right := range planned.Rights() {
				if right != without && (right.Namespace != "" || planned.Made) {
					rules = append(rules, kubetest.Rule{
						APIGroups: []string{right.Group}, Resources: []string{right.Resource},
						Verbs: []string{right.Verb},
					})
				}
			}
			return r.open(t, r.User(name, namespace, rules...))
		}
		exact := user("exact"+namespace, Right{})
		d := exact.New(plan(t, realRun(), arm)[0], func(text string) { t.Log(text) })
		err := eventually(t, func() error { return exact.checkRights(t.Context(), d.Set, func(string) {}) })
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Make(t.Context()); err != nil {
			t.Error(err)
		}
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		r.left(t, d.Set)
		for _, right := range planned.Rights() {
			if right.Optional {
				continue
			}
			c := user("lacking"+namespace, right)
			err := eventually(t, func() error {
				err := c.checkRights(t.Context(), planned, func(string) {})
				if err == nil || strings.Count(err.Error(), "\n  to ") != 1 ||
					!strings.Contains(err.Error(), "to "+right.String()+"\n") {
					return fmt.Errorf("without the right to %v: %w", right, err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// eventually repeats a check until it succeeds: the cluster takes a moment until new rules hold.
func eventually(t *testing.T, check func() error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		err := check()
		if err == nil || !pause(ctx, pauseGone) {
			return err
		}
	}
}

// windowsObjects: the API server accepts the planned pods for Windows.
func (r *rig) windowsObjects(t *testing.T) {
	win := &experiment.Pod{OS: experiment.PodWindows, Image: "r.example/agent-and-tools:1"}
	node := &experiment.Pod{OS: experiment.PodWindows, AgentImage: "r.example/agent:1", HostNetwork: true}
	both := *node
	both.Image = "r.example/tools:1"
	s := plan(t, realRun(), between("a", experiment.ThroughPod, win, win),
		between("b", experiment.ThroughPod, node, &both))[0]
	core := r.cluster.client.CoreV1()
	if _, err := core.Namespaces().Create(t.Context(), s.made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.ServiceAccounts(s.Namespace).Create(t.Context(), s.account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.pods {
		o := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		made, err := core.Pods(s.Namespace).Create(t.Context(), p, o)
		if err != nil {
			t.Errorf("pod %s: %v", p.Name, err)
			continue
		}
		if made.Spec.OS == nil || made.Spec.OS.Name != corev1.Windows {
			t.Errorf("pod %s: %+v", p.Name, made.Spec.OS)
		}
	}
	d := r.cluster.New(s, func(string) {})
	if err := d.Make(t.Context()); err == nil || !strings.Contains(err.Error(), "pods on Windows can be planned") {
		t.Errorf("got %v", err)
	}
	err := r.cluster.deleteNamespace(t.Context(), s.Namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
