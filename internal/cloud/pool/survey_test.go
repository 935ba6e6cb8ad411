package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func node(name, pool string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": pool}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// aPod is a ready pod, with a controller unless owner is empty: "ReplicaSet web-1".
func aPod(name, node, owner string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	p.Labels = map[string]string{"app": name}
	p.Spec.NodeName = node
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if kind, of, ok := strings.Cut(owner, " "); ok {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: of, Controller: &yes}}
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func replicaSet(name, deployment string) *appsv1.ReplicaSet {
	yes := true
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment, Controller: &yes}
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", OwnerReferences: []metav1.OwnerReference{owner},
	}}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	d.Spec.Replicas = &replicas
	return d
}

func budget(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	b.Status.DisruptionsAllowed = allowed
	return b
}

// testMigration is a migration of the nodes with pool=old to those with pool=new.
func testMigration(t *testing.T, objects ...runtime.Object) *Migration {
	t.Helper()
	client := fake.NewClientset(objects...)
	// The fake does not support field selectors.
	client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		all, err := client.Tracker().List(a.GetResource(), corev1.SchemeGroupVersion.WithKind("Pod"), a.GetNamespace())
		if err != nil {
			return true, nil, err
		}
		list := all.(*corev1.PodList)
		list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
			fields := a.(clienttesting.ListAction).GetListRestrictions().Fields
			wanted, given := fields.RequiresExactMatch("spec.nodeName")
			return given && p.Spec.NodeName != wanted
		})
		return true, list, nil
	})
	s := NewState(time.Now())
	s.Old, s.New, s.KeepOld = Side{Selector: "pool=old"}, Side{Selector: "pool=new"}, true
	s.Limits = Limits{Nodes: time.Second, Drain: 10 * time.Second, Workloads: time.Second}
	return &Migration{
		Cluster: &Cluster{client}, State: s, Poll: time.Millisecond, Save: func(*State) error { return nil },
		Say: t.Logf, Confirm: func(string) (bool, error) { return false, nil },
	}
}

func TestSurvey(t *testing.T) {
	emptyDir := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "x"}}
		p.Spec.Volumes[0].EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	pinned := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "old"} }
	named := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels["app"] = name } }
	ended := func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }
	static := func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
	m := testMigration(t, node("n1", "old"), node("n2", "new"), replicaSet("web-1", "web"), deployment("web", 2),
		aPod("web-a", "n1", "ReplicaSet web-1", named("web")), aPod("web-b", "n1", "ReplicaSet web-1", named("web")),
		aPod("cache", "n1", "StatefulSet cache", emptyDir), aPod("alone", "n1", ""),
		aPod("tied", "n1", "StatefulSet tied", pinned), aPod("twice", "n1", "StatefulSet twice"),
		aPod("agent", "n1", "DaemonSet agent"), aPod("proxy", "n1", "", static),
		aPod("ended", "n1", "", ended, emptyDir),
		aPod("job", "n1", "Job job"), aPod("elsewhere", "n2", ""),
		budget("one", "twice", 1), budget("two", "twice", 1), budget("cache", "cache", 0), budget("other", "nobody", 0),
	)
	got, err := m.Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Nodes) != 1 || got.Nodes[0].Staying != 2 || len(got.Nodes[0].Moving) != 8 || got.NewNodes[0] != "n2" {
		t.Errorf("nodes: %s", text)
	}
	for _, want := range []string{
		"lost: default/cache", "gone after it: default/alone", "stay pending: default/tied",
		"never evicts them: default/twice",
		"default/cache: evictions allowed now: 0", "at once: Deployment default/web", "elsewhere: default/job",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it does not say %q: %s", want, text)
		}
	}
	if len(got.Refused()) != 4 || len(got.Budgets) != 3 {
		t.Errorf("refused: %+v, budgets: %+v", got.Refused(), got.Budgets)
	}
	m.State.Consent = Consent{EmptyDir: true, Unmanaged: true, Pending: true}
	if got, err = m.Survey(t.Context()); err != nil || len(got.Refused()) != 1 {
		t.Errorf("with all flags: %+v %v", got.Refused(), err)
	}
	// A pool that is still to be made has the labels of its name.
	m.State.New = Side{Pool: "x", Selector: "pool=x", Made: true}
	m.NewLabels = map[string]string{"pool": "x"}
	m.State.Consent.Pending = false
	if got, err = m.Survey(t.Context()); err != nil || len(got.Refused()) != 2 {
		t.Errorf("with a pool to be made: %+v %v", got.Refused(), err)
	}
}

func TestNoNodes(t *testing.T) {
	for what, objects := range map[string][]runtime.Object{
		"old": {node("n2", "new")}, "new": {node("n1", "old")},
	} {
		if _, err := testMigration(t, objects...).Survey(t.Context()); !errors.Is(err, errNoNodes) {
			t.Errorf("without %s nodes: %v", what, err)
		}
	}
	m := testMigration(t, node("n1", "old"))
	m.State.New.Selector = "pool"
	if _, err := m.Survey(t.Context()); err == nil || !strings.Contains(err.Error(), "in both pools") {
		t.Errorf("a node in both pools: %v", err)
	}
}

// Workloads are waited for as far as they were ready before, and as they ask for now.
func TestLacking(t *testing.T) {
	unready := func(p *corev1.Pod) { p.Status.Conditions = nil }
	one := aPod("a", "n2", "ReplicaSet web-1")
	other, bad := aPod("b", "n2", "ReplicaSet web-1"), aPod("b", "n2", "ReplicaSet web-1", unready)
	newer := aPod("a", "n2", "ReplicaSet web-2")
	for what, w := range map[string]struct {
		before, replicas int
		pods             []runtime.Object
		lacks            bool
	}{
		"all are ready":            {2, 2, []runtime.Object{one, other}, false},
		"one is not ready":         {2, 2, []runtime.Object{one, bad}, true},
		"one was not ready before": {1, 2, []runtime.Object{one}, false},
		"it was made smaller":      {2, 1, []runtime.Object{one}, false},
		"it has another set now":   {1, 1, []runtime.Object{replicaSet("web-2", "web"), newer}, false},
		"nothing is there":         {1, 1, nil, true},
	} {
		objects := append([]runtime.Object{replicaSet("web-1", "web"), deployment("web", int32(w.replicas))}, w.pods...)
		m := testMigration(t, objects...)
		lack, err := m.Cluster.lacking(t.Context(), []Workload{{"default", "Deployment", "web", w.before}})
		if err != nil || (len(lack) > 0) != w.lacks {
			t.Errorf("%s: %v %v", what, lack, err)
		}
	}
	m := testMigration(t, aPod("a", "n2", "Rollout x"))
	lack, err := m.Cluster.lacking(t.Context(), []Workload{
		{"default", "Deployment", "gone", 2}, {"default", "Job", "ends", 2}, {"default", "Rollout", "x", 2},
	})
	if err != nil || len(lack) != 1 || !strings.Contains(lack[0], "Rollout default/x has 1 of 2") {
		t.Errorf("%v %v", lack, err)
	}
}

// A node that comes while others are drained is drained too, a node that disappears is no error, and a crash at each
// write of the state loses nothing.
func TestCrashes(t *testing.T) {
	objects := func() []runtime.Object {
		cordoned := node("n3", "old")
		cordoned.Spec.Unschedulable = true
		return []runtime.Object{node("n1", "old"), node("n2", "new"), cordoned, replicaSet("web-1", "web"),
			deployment("web", 1), aPod("web-a", "n2", "ReplicaSet web-1")}
	}
	crash := errors.New("crash")
	for _, undo := range []bool{false, true} {
		for at := 0; ; at++ {
			m := testMigration(t, objects()...)
			m.Say = func(string, ...any) {}
			var saved []byte
			writes := 0
			m.Save = func(s *State) error {
				writes++
				saved, _ = json.Marshal(s)
				if writes == at+1 {
					return crash
				}
				if writes == 4 {
					nodes := m.Cluster.client.CoreV1().Nodes()
					_, err := nodes.Create(t.Context(), node("n4", "old"), metav1.CreateOptions{})
					return err
				}
				return nil
			}
			err := m.Begin(t.Context())
			if err == nil {
				err = m.Run(t.Context())
			}
			over := err == nil
			if !over && !errors.Is(err, crash) {
				t.Fatalf("crash %d: %v", at, err)
			}
			s, err := parseState(saved)
			if err != nil {
				t.Fatal(err)
			}
			m.State, m.Save = s, func(*State) error { return nil }
			if undo {
				if err := m.BeginUndo(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Run(t.Context()); err != nil {
				t.Fatalf("after crash %d: %v", at, err)
			}
			wantCordoned(t, m, fmt.Sprintf("crash %d, undo %v", at, undo), undo)
			if over {
				break
			}
		}
	}
}

func wantCordoned(t *testing.T, m *Migration, when string, undo bool) {
	t.Helper()
	nodes, err := m.Cluster.nodes(context.Background(), "pool=old")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if want := !undo || n.Name == "n3"; n.Spec.Unschedulable != want {
			t.Errorf("%s: node %s is cordoned: %v", when, n.Name, n.Spec.Unschedulable)
		}
	}
}
