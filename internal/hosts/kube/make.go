package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"nearfar/internal/declare/experiment"
)

// Deployed is what was made of a Set.
type Deployed struct {
	Set *Set
	// Version is the version of the API server, once Make has returned; empty if it is not known.
	Version string
	cluster *Cluster
	note    func(text string)
	// declared are the declarations of the pods, by name.
	declared map[string]*experiment.Pod
	// balancerQuiet is balancerQuiet; tests set less.
	balancerQuiet time.Duration
	// begun says that something may have been made.
	begun bool

	mu sync.Mutex
	// pods are the pods as they were when they were ready, by name.
	pods map[string]*corev1.Pod
	// installed are the pods into which the agent was copied, by name.
	installed map[string]bool
	// follower watches the pods; nil for nobody.
	follower *follower
	// policies are the names of the policies that select the pods, if nearfar makes none.
	policies []string
}

// New prepares the making of a set. note is told what the user should know; it may be called from several goroutines.
func (c *Cluster) New(s *Set, note func(text string)) *Deployed {
	d := &Deployed{
		Set: s, cluster: c, note: note, declared: map[string]*experiment.Pod{}, pods: map[string]*corev1.Pod{},
		installed: map[string]bool{}, balancerQuiet: balancerQuiet,
	}
	for _, use := range s.Uses {
		d.declared[use.Client], d.declared[use.Server] = use.ClientPod, use.ServerPod
	}
	return d
}

// Make makes the objects and waits until the pods are ready, at most for Set.Ready. The caller calls Remove, also after
// an error.
func (d *Deployed) Make(ctx context.Context) error {
	s := d.Set
	for _, pod := range s.pods {
		if pod.Spec.OS.Name == experiment.PodWindows {
			return fmt.Errorf("pod %s: pods on Windows can be planned (--dry-run), but this build cannot run them",
				pod.Name)
		}
	}
	if err := d.cluster.checkRights(ctx, s, d.note); err != nil {
		return err
	}
	if err := d.cluster.checkRoom(ctx, s, d.note); err != nil {
		return err
	}
	for _, why := range s.Why {
		if s.Made {
			why += fmt.Sprintf(": namespace %s gets the level %s of Pod Security", s.Namespace, s.Level)
		}
		d.note(why)
	}
	d.begun = true
	version := make(chan string, 1)
	go func() { version <- d.cluster.version() }()
	if err := d.create(ctx); err != nil {
		return err
	}
	if err := d.awaitReady(ctx); err != nil {
		return err
	}
	if s.leave {
		d.readPolicies(ctx)
	}
	select {
	case d.Version = <-version:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// create makes the objects, in their order.
func (d *Deployed) create(ctx context.Context) error {
	s, core := d.Set, d.cluster.client.CoreV1()
	if s.made != nil {
		if err := makeOne(ctx, core.Namespaces(), "namespace "+s.Namespace, s.made); err != nil {
			return err
		}
	}
	err := makeOne(ctx, core.ServiceAccounts(s.Namespace), "the service account", s.account)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("there is no namespace %s in context %s: leave out namespace:, and nearfar makes one",
			s.Namespace, s.Context)
	}
	if err != nil {
		return err
	}
	for i := range s.services {
		if err := d.createService(ctx, i); err != nil {
			return err
		}
	}
	if s.policy != nil {
		policies := d.cluster.client.NetworkingV1().NetworkPolicies(s.Namespace)
		if err := makeOne(ctx, policies, "the network policy", s.policy); err != nil {
			return err
		}
	}
	for _, pod := range s.pods {
		if err := makeOne(ctx, core.Pods(s.Namespace), "pod "+pod.Name, pod); err != nil {
			return err
		}
	}
	return nil
}

// makeOne makes an object.
func makeOne[T any](ctx context.Context, in interface {
	Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error)
}, what string, object T) error {
	_, err := in.Create(ctx, object, metav1.CreateOptions{})
	return explain("making "+what, existing(err))
}

// existing drops the error that an object exists: its name has the run's id, so an earlier attempt of the same request
// made it.
func existing(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// portAttempts is how often other node ports are tried.
const portAttempts = 10

// createService makes a Service. If its node ports are taken, it takes others, unless the file names them.
func (d *Deployed) createService(ctx context.Context, i int) error {
	s := d.Set
	service := s.services[i]
	arm := service.Annotations[AnnotationArms]
	for attempt := 1; ; attempt++ {
		_, err := d.cluster.client.CoreV1().Services(s.Namespace).Create(ctx, service, metav1.CreateOptions{})
		if err = existing(err); err == nil {
			return nil
		}
		use := s.Uses[arm]
		free := use.Through == experiment.ThroughNodePort && use.ServerPod.Port == 0
		if !free || attempt == portAttempts || !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), "already allocated") {
			return explain("making Service "+service.Name, err)
		}
		s.setPort(arm, service, nodePort(s.Run.ID, arm, attempt))
	}
}

// setPort gives an arm other node ports.
func (s *Set) setPort(arm string, service *corev1.Service, first int) {
	use := s.Uses[arm]
	before := use.Port
	use.Port = first
	s.Uses[arm] = use
	service.Spec.Ports = s.servicePorts(first, true)
	if s.policy == nil {
		return
	}
	for _, rule := range s.policy.Spec.Ingress {
		for i, p := range rule.Ports {
			if p.Port.IntValue() == before {
				p.Port.IntVal, rule.Ports[i].EndPort = int32(first), new(int32(first+measuringPorts-1))
			}
		}
	}
}

// selector finds the objects of the run.
func (s *Set) runSelector() string {
	return labels.SelectorFromSet(labels.Set{LabelManaged: Manager, LabelRun: s.Run.ID}).String()
}

// errNotReady is the cause of a context that ended because the pods took too long.
var errNotReady = errors.New("the pods took too long")

// pausePoll is the time between two requests where the API server cannot be watched.
const pausePoll = 500 * time.Millisecond

// awaitReady waits until all pods are ready.
func (d *Deployed) awaitReady(ctx context.Context) error {
	whole, limit := ctx, cmp.Or(d.Set.Ready, experiment.DefaultPodReady)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNotReady)
	defer cancel()
	seen := &progress{deployed: d, pods: map[string]*corev1.Pod{}, told: map[string]string{}}
	for {
		done, err := d.follow(ctx, seen)
		switch {
		case done || err != nil && !errors.Is(err, errNotReady):
			return err
		case errors.Is(context.Cause(ctx), errNotReady):
			return fmt.Errorf("the pods were not ready within %v:\n  %s", limit,
				strings.Join(seen.problems(whole, false), "\n  "))
		case ctx.Err() != nil:
			return ctx.Err()
		}
		pause(ctx, pausePoll)
	}
}

// mostChanges is how many events are read of one watch. New pods change some ten times each.
const mostChanges = 5000

// follow lists the pods and watches them until all are ready or one cannot become ready. Otherwise it returns when the
// watch ends.
func (d *Deployed) follow(ctx context.Context, seen *progress) (done bool, err error) {
	pods := d.cluster.client.CoreV1().Pods(d.Set.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: d.Set.runSelector()})
	if err == nil || ctx.Err() == nil { // the end of the time is no reason
		seen.failed = err
	}
	if err != nil {
		if apierrors.IsForbidden(err) {
			return false, explain("looking at the pods", err)
		}
		return false, nil // the API server can come back
	}
	for i := range list.Items {
		seen.add(&list.Items[i])
	}
	if done, err := seen.judge(ctx); done || err != nil {
		return done, err
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{
		LabelSelector: d.Set.runSelector(), ResourceVersion: list.ResourceVersion,
	})
	if err != nil {
		return false, nil
	}
	defer w.Stop()
	for event, pod := range podEvents(ctx, w, mostChanges) {
		if event == watch.Deleted {
			return false, fmt.Errorf("pod %s was deleted while it was made", pod.Name)
		}
		seen.add(pod)
		if done, err := seen.judge(ctx); done || err != nil {
			return done, err
		}
	}
	return false, context.Cause(ctx)
}

// progress is what is seen of the pods while they become ready.
type progress struct {
	deployed *Deployed
	pods     map[string]*corev1.Pod
	// failed is why the pods could not be listed the last time; nil if they could.
	failed error
	// told are the reasons that the user was told, by pod.
	told map[string]string
}

// add adds a pod of the plan.
func (p *progress) add(pod *corev1.Pod) {
	if slices.ContainsFunc(p.deployed.Set.pods, func(planned *corev1.Pod) bool { return planned.Name == pod.Name }) {
		p.pods[pod.Name] = pod
	}
}

// judge says whether all pods are ready. The error says why one will not be.
func (p *progress) judge(ctx context.Context) (done bool, err error) {
	ready := 0
	for _, planned := range p.deployed.Set.pods {
		pod := p.pods[planned.Name]
		if pod == nil {
			continue
		}
		s := stateOf(pod, nil, func(string) string { return "" })
		switch {
		case s.ready:
			ready++
		case s.hopeless:
			return false, fmt.Errorf("the pods cannot become ready:\n  %s", strings.Join(p.problems(ctx, true), "\n  "))
		case strings.HasPrefix(s.why, "no node fits") && p.told[pod.Name] != s.why:
			p.told[pod.Name] = s.why
			p.deployed.note(fmt.Sprintf("waiting: pod %s: %s", pod.Name, s.why))
		}
	}
	if ready < len(p.deployed.Set.pods) {
		return false, nil
	}
	p.deployed.mu.Lock()
	defer p.deployed.mu.Unlock()
	p.deployed.pods = p.pods
	return true, nil
}

// problems says of each pod that is not ready why it is not, or only of those that cannot become ready. It asks for
// events and logs, if the user may.
func (p *progress) problems(ctx context.Context, onlyHopeless bool) (all []string) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	c := p.deployed.cluster
	for _, planned := range p.deployed.Set.pods {
		pod := p.pods[planned.Name]
		if pod == nil {
			if !onlyHopeless {
				text := "pod " + planned.Name + ": the API server does not show it"
				if p.failed != nil {
					text += ": " + shortened(p.failed).Error()
				}
				all = append(all, text)
			}
			continue
		}
		events, _ := c.events(ctx, pod.Namespace, pod.Name)
		s := stateOf(pod, events, func(container string) string { return c.lastLines(ctx, pod, container) })
		if !s.ready && (s.hopeless || !onlyHopeless) {
			all = append(all, "pod "+pod.Name+": "+s.why)
		}
	}
	return all
}

// events are the events of an object; false if the user may not see them.
func (c *Cluster) events(ctx context.Context, namespace, name string) (all []corev1.Event, known bool) {
	list, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.name", name).String(),
	})
	if err != nil {
		return nil, false
	}
	return list.Items, true
}

// lastLines are the last lines that a container printed; empty if the user may not see them.
func (c *Cluster) lastLines(ctx context.Context, pod *corev1.Pod, container string) string {
	r, err := c.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, TailLines: new(int64(5)),
	}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, maxReason))
	if err != nil {
		return ""
	}
	return string(text)
}

// pod is a pod as it was when it was ready.
func (d *Deployed) pod(name string) *corev1.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pods[name]
}

// readPolicies finds the network policies that select pods of the run, and says which.
func (d *Deployed) readPolicies(ctx context.Context) {
	list, err := d.cluster.client.NetworkingV1().NetworkPolicies(d.Set.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, policy := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(d.Set.pods, func(p *corev1.Pod) bool { return selector.Matches(labels.Set(p.Labels)) }) {
			d.policies = append(d.policies, policy.Name)
		}
	}
	if len(d.policies) > 0 {
		d.note(fmt.Sprintf("namespace %s: these network policies select the pods: %s. They may deny the traffic "+
			"(networkPolicy: open lets nearfar allow it)", d.Set.Namespace, strings.Join(d.policies, ", ")))
	}
}
