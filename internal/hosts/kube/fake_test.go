package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/remotecommand"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
)

// fakeCluster is a cluster whose API server is a store of objects. Pods are ready as soon as they are made, unless
// change makes something else of them. All rights are given except those that denied names.
func fakeCluster(change func(*corev1.Pod), denied ...string) (*Cluster, *fake.Clientset) {
	client := fake.NewClientset()
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		pod.Spec.NodeName, pod.Status.Phase = "n1", corev1.PodRunning
		pod.Status.PodIP, pod.Status.PodIPs = "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if change != nil {
			change(pod)
		}
		return false, nil, nil
	})
	// Lists of an API server have a version, unlike those of the store.
	client.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		kind := a.(clienttesting.ListActionImpl).GetKind()
		list, err := client.Tracker().List(a.GetResource(), kind, a.GetNamespace())
		if err == nil {
			var m metav1.ListInterface
			if m, err = meta.ListAccessor(list); err == nil {
				m.SetResourceVersion("1")
			}
		}
		return true, list, err
	})
	review := func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		at := review.Spec.ResourceAttributes
		resource := at.Resource
		if at.Subresource != "" {
			resource += "/" + at.Subresource
		}
		review.Status.Allowed = !slices.Contains(denied, at.Verb+" "+resource)
		return true, review, nil
	}
	client.PrependReactor("create", "selfsubjectaccessreviews", review)
	return &Cluster{Context: "lab", client: client}, client
}

// notes collects the notes to the user.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.all, "\n")
}

// TestMakeAndRemove: everything that was planned is made, and everything is gone afterwards.
func TestMakeAndRemove(t *testing.T) {
	for _, namespace := range []string{"", "perf"} {
		c, _ := fakeCluster(nil)
		arm := between("a", experiment.ThroughClusterIP, linuxPod(), linuxPod())
		arm.Kubernetes.Namespace = namespace
		d := c.New(plan(t, testRun(), arm)[0], func(string) {})
		if err := d.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, looked, err := c.Find(t.Context(), nil)
		if want := len(d.Set.Objects()); err != nil || len(found) != want {
			t.Errorf("%d objects found, want %d: %v", len(found), want, err)
		}
		if !slices.ContainsFunc(looked, func(line string) bool { return line == "Pods of all namespaces: 2" }) {
			t.Errorf("looked at %q", looked)
		}
		// The store has no namespace controller: what is in a namespace stays when it is deleted.
		d.Set.Made = false
		if err := d.Remove(); err != nil {
			t.Fatal(err)
		}
		if namespace == "" {
			if err := c.deleteNamespace(t.Context(), d.Set.Namespace); err != nil {
				t.Fatal(err)
			}
		}
		if found, _, err := c.Find(t.Context(), nil); err != nil || len(found) > 0 {
			t.Errorf("left: %v, %v", found, err)
		}
		if err := d.Remove(); err != nil {
			t.Errorf("removed twice: %v", err)
		}
	}
}

// TestMissingRights: each right that a run needs is named if it is missing, and nothing is made.
func TestMissingRights(t *testing.T) {
	arm := between("a", experiment.ThroughClusterIP, linuxPod(), linuxPod())
	for _, right := range plan(t, testRun(), arm)[0].Rights() {
		c, client := fakeCluster(nil, right.Verb+" "+right.Resource)
		var told notes
		d := c.New(plan(t, testRun(), arm)[0], told.add)
		err := d.Make(t.Context())
		switch {
		case right.Optional:
			if err != nil || !strings.Contains(told.String(), right.Without+" stays unknown") {
				t.Errorf("without the right to %v: %v, told %q", right, err, told.String())
			}
		case !errors.Is(err, errMissing) || !strings.Contains(err.Error(), "\n  to "+right.String()+"\n"):
			t.Errorf("without the right to %v: %v", right, err)
		default:
			for _, a := range client.Actions() {
				if a.GetVerb() == "create" && a.GetResource().Resource != "selfsubjectaccessreviews" {
					t.Errorf("%s %s although a right is missing", a.GetVerb(), a.GetResource().Resource)
				}
			}
		}
	}
}

// TestExplain: refusals of the API server in words.
func TestExplain(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := func(text string) error { return apierrors.NewForbidden(pods, "p", errors.New(text)) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused(`User "ann" cannot create resource "pods" in API group "" in the namespace "perf"`),
			"making pod p: the right to create pods in namespace perf is missing"},
		{refused(`User "ann" cannot get resource "nodes" in API group "" at the cluster scope`),
			"making pod p: the right to get nodes is missing"},
		{refused(`User "ann" cannot list resource "networkpolicies" in API group "networking.k8s.io" in the ` +
			`namespace "x"`),
			"making pod p: the right to list networkpolicies.networking.k8s.io in namespace x is missing"},
		{refused(`violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`),
			"making pod p: the namespace's level of Pod Security does not admit the pod"},
		{refused(`exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`),
			"making pod p: the namespace's quota is used up"},
		{refused(`maximum cpu usage per Container is 500m, but limit is 1`),
			"making pod p: the namespace's LimitRange does not admit the pod's resources"},
		{apierrors.NewBadRequest(`admission webhook "policy.example" denied the request: no`),
			"making pod p: an admission webhook of the cluster refuses it"},
	} {
		if got := explain("making pod p", c.err).Error(); !strings.HasPrefix(got, c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestNodePortsTaken: other ports are tried if node ports are taken, and the policy follows.
func TestNodePortsTaken(t *testing.T) {
	c, client := fakeCluster(nil)
	var tried []int32
	client.PrependReactor("create", "services", func(a clienttesting.Action) (bool, runtime.Object, error) {
		port := a.(clienttesting.CreateAction).GetObject().(*corev1.Service).Spec.Ports[0].NodePort
		tried = append(tried, port)
		if len(tried) < 3 {
			err := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "s", nil)
			err.ErrStatus.Message = "provided port is already allocated"
			return true, nil, err
		}
		return false, nil, nil
	})
	run := testRun()
	run.UDP, run.Background = true, true
	d := c.New(plan(t, run, between("a", experiment.ThroughNodePort, linuxPod(), linuxPod()))[0], func(string) {})
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(tried)
	if len(slices.Compact(tried)) != 3 {
		t.Errorf("tried %v", tried)
	}
	port := d.Set.Uses["a"].Port
	service := d.Set.services[0].Spec.Ports
	if service[0].NodePort != int32(port) || service[0].TargetPort.IntValue() != port ||
		service[7].NodePort != int32(port+3) {
		t.Errorf("the Service has %+v, the arm port %d", service, port)
	}
	rule := d.Set.policy.Spec.Ingress[1].Ports[0]
	if rule.Port.IntValue() != port || *rule.EndPort != int32(port+3) {
		t.Errorf("the policy admits %v to %d", rule.Port, *rule.EndPort)
	}
}

// TestNotReady: the error of pods that do not become ready has the reason of each.
func TestNotReady(t *testing.T) {
	c, _ := fakeCluster(func(p *corev1.Pod) {
		if p.Labels[LabelSide] == Server {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Message: "0/1 nodes are available: 1 Insufficient cpu.",
			}}
		}
	})
	arm := between("a", experiment.ThroughPod, linuxPod(), linuxPod())
	arm.Kubernetes.Ready = 100 * time.Millisecond
	var told notes
	d := c.New(plan(t, testRun(), arm)[0], told.add)
	err := d.Make(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the pods were not ready within 100ms") ||
		!strings.Contains(err.Error(), "pod nearfar-abcdefgh-p1-server: no node fits: 0/1 nodes are available: 1 "+
			"Insufficient cpu") ||
		strings.Contains(err.Error(), "p1-client") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(told.String(), "waiting: pod nearfar-abcdefgh-p1-server: no node fits") {
		t.Errorf("told %q", told.String())
	}
}

// TestLeftovers: a run removes what has expired or belongs to a process that ended, of its own owner alone.
func TestLeftovers(t *testing.T) {
	c, client := fakeCluster(nil)
	now := time.Now()
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for name, annotations := range map[string]map[string]string{
		"expired":  {AnnotationOwner: "ann@desk", AnnotationExpires: at(-time.Hour)},
		"ended":    {AnnotationOwner: "ann@desk", AnnotationProcess: Process() + "0"},
		"running":  {AnnotationOwner: "ann@desk", AnnotationProcess: Process(), AnnotationExpires: at(time.Hour)},
		"stranger": {AnnotationOwner: "bob@desk", AnnotationExpires: at(-time.Hour)},
		"other":    {AnnotationOwner: "ann@desk", AnnotationProcess: "another-boot/1/2/3"},
	} {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{LabelManaged: Manager, LabelRun: name}, Annotations: annotations,
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	run := testRun()
	run.Now = now
	d := c.New(plan(t, run, between("a", experiment.ThroughPod, linuxPod(), linuxPod()))[0], func(string) {})
	d.RemoveLeftovers(t.Context())
	list, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, n := range list.Items {
		left = append(left, n.Name)
	}
	slices.Sort(left)
	want := []string{"other", "running", "stranger"}
	if Process() == "" {
		want = []string{"ended", "other", "running", "stranger"}
	}
	if !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
}

// TestStreamEnds: a stream that is cut, or that ends with status 0 in the middle, ends the connection with words, and
// Close ends what waits.
func TestStreamEnds(t *testing.T) {
	cut := errors.New("unexpected EOF")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{cut, []string{"pod p: the exec stream ended: a warning: unexpected EOF"}},
		{nil, []string{"pod p: the exec stream ended: a warning: EOF"}},
	} {
		cluster := &Cluster{exec: func(_ context.Context, _ place, _ []string, s remotecommand.StreamOptions) error {
			fmt.Fprint(s.Stdout, "hello")
			fmt.Fprintln(s.Stderr, "a warning")
			return c.err
		}}
		s := cluster.open(place{"ns", "p", "c"}, []string{"x"})
		got, err := io.ReadAll(readUntilError{s})
		if string(got) != "hello" || err == nil || !strings.Contains(err.Error(), c.want[0]) {
			t.Errorf("got %q and %v", got, err)
		}
		if _, err := s.Write([]byte("x")); err == nil {
			t.Error("a write to an ended stream succeeds")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	waits := &Cluster{exec: func(ctx context.Context, _ place, _ []string, _ remotecommand.StreamOptions) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	s := waits.open(place{"ns", "p", "c"}, []string{"x"})
	ended := make(chan error, 2)
	go func() { _, err := s.Read(make([]byte, 1)); ended <- err }()
	go func() { _, err := s.Write(make([]byte, 1)); ended <- err }()
	_ = s.Close()
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("Close ended a call without an error")
		}
	}
	<-s.ended
}

// readUntilError reads on after an error that wraps io.EOF, which io.ReadAll would drop.
type readUntilError struct{ r io.Reader }

func (r readUntilError) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil {
		err = errors.New(err.Error())
	}
	return n, err
}

// TestGoneWhileDialing: a connection that is made again asks for the pod first.
func TestGoneWhileDialing(t *testing.T) {
	c, client := fakeCluster(nil)
	d := c.New(plan(t, testRun(), between("a", experiment.ThroughPod, linuxPod(), linuxPod()))[0], func(string) {})
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := d.Set.Uses["a"].Server
	dialer := &dialer{cluster: c, before: d.pod(name)}
	if err := dialer.same(t.Context()); err != nil {
		t.Errorf("the same pod: %v", err)
	}
	if got := d.Observe(t.Context(), name); got != (Observed{Pod: name, Node: "n1"}) {
		t.Errorf("observed %+v", got)
	}
	if err := client.CoreV1().Pods(d.Set.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err := dialer.same(t.Context())
	if !errors.Is(err, agent.ErrGone) || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("a deleted pod: %v", err)
	}
	client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	if err := dialer.same(t.Context()); err == nil || errors.Is(err, agent.ErrGone) {
		t.Errorf("an API server that does not answer: %v", err)
	}
	if got := d.Observe(t.Context(), name); !got.Unknown || got.Changed != "" {
		t.Errorf("observed %+v", got)
	}
}

// TestInterfaceAddresses: the addresses of a secondary interface come from the pod's annotation.
func TestInterfaceAddresses(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{annotationNetworks: `[
		{"name": "cbr0", "interface": "eth0", "ips": ["10.0.0.1"], "default": true},
		{"name": "perf/fast", "interface": "net1", "ips": ["192.0.2.7", "2001:db8::7"]},
		{"name": "perf/none", "interface": "net2"}]`}}}
	for _, name := range []string{"net1", "fast", "perf/fast"} {
		a, err := interfaceAddresses(pod, name)
		if err != nil || a.V4.String() != "192.0.2.7" || a.V6.String() != "2001:db8::7" {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	for name, want := range map[string]string{
		"net2": "has no address", "net3": "has no interface net3: it has eth0 (cbr0), net1 (perf/fast)",
	} {
		if _, err := interfaceAddresses(pod, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := interfaceAddresses(&corev1.Pod{}, "net1")
	if err == nil || !strings.Contains(err.Error(), "has no annotation") {
		t.Errorf("without the annotation: %v", err)
	}
}

// TestSidecars: containers that nearfar did not plan are named.
func TestSidecars(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: initName}, {Name: "istio-init"}},
		Containers:     []corev1.Container{{Name: ContainerName}, {Name: "istio-proxy"}},
	}}
	if got := sidecars(pod); !slices.Equal(got, []string{"istio-init", "istio-proxy"}) {
		t.Errorf("got %v", got)
	}
}

// deny refuses requests such as "list nodes", as the API server does without the right.
func deny(client *fake.Clientset, requests ...string) {
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if !slices.Contains(requests, a.GetVerb()+" "+a.GetResource().Resource) {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", errors.New("no"))
	})
}

// TestNoControllerOfLoadBalancers: a Service that no controller says anything about is given up soon, unless the user
// may not see what it says.
func TestNoControllerOfLoadBalancers(t *testing.T) {
	arm := between("a", experiment.ThroughLoadBalancer, linuxPod(), linuxPod())
	begin := func(t *testing.T) (*Deployed, *fake.Clientset, *notes) {
		c, client := fakeCluster(nil)
		told := &notes{}
		d := c.New(plan(t, testRun(), arm)[0], told.add)
		d.balancerQuiet = 10 * time.Millisecond
		if err := d.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.Set.Ready = 300 * time.Millisecond
		return d, client, told
	}
	none := func(context.Context, string) ([]string, error) { return nil, nil }
	d, _, _ := begin(t)
	d.Set.Ready = time.Minute
	_, err := d.Through(t.Context(), d.Set.Uses["a"], none)
	if err == nil || !strings.Contains(err.Error(), "no controller of load balancers has said anything") {
		t.Errorf("without a controller: %v", err)
	}
	d, client, told := begin(t)
	if err := client.Tracker().Add(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: d.Set.Namespace}, Reason: "SyncLoadBalancerFailed",
		Message: "no subnet", InvolvedObject: corev1.ObjectReference{Name: d.Set.Uses["a"].Service},
	}); err != nil {
		t.Fatal(err)
	}
	_, err = d.Through(t.Context(), d.Set.Uses["a"], none)
	if err == nil || !strings.Contains(err.Error(), "it said: SyncLoadBalancerFailed: no subnet") {
		t.Errorf("with a controller that fails: %v", err)
	}
	if !strings.Contains(told.String(), "SyncLoadBalancerFailed: no subnet") {
		t.Errorf("told %q", told.String())
	}
	d, client, _ = begin(t)
	deny(client, "list events")
	_, err = d.Through(t.Context(), d.Set.Uses["a"], none)
	if err == nil || !strings.Contains(err.Error(), "got no address within") {
		t.Errorf("without the right to see events: %v", err)
	}
}
