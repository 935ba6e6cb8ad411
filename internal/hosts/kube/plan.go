// Package kube makes pods of a Kubernetes cluster that are hosts, and reaches their agents.
//
// The agent in a pod is reached by the API server: an exec stream carries the bytes (see dialer). Nothing listens on
// the pod's network. What is made for a run has the run's id in its names and labels. See docs/kubernetes.md.
package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nearfar/internal/declare/experiment"
)

// Labels and annotations of all objects that nearfar makes.
const (
	LabelManaged = "app.kubernetes.io/managed-by"
	Manager      = "nearfar"
	// LabelRun is the id of the run, LabelPair the pair of pods ("p1"), LabelSide client or server.
	LabelRun  = "nearfar/run"
	LabelPair = "nearfar/pair"
	LabelSide = "nearfar/side"
	// AnnotationOwner is "user@host" of who runs nearfar, AnnotationProcess names the process (see Process).
	AnnotationOwner   = "nearfar/owner"
	AnnotationProcess = "nearfar/process"
	// AnnotationExpires is the moment (RFC 3339) from which a later run may remove the object.
	AnnotationExpires = "nearfar/expires"
	// AnnotationArms lists the arms that use the object.
	AnnotationArms = "nearfar/arms"
)

// The sides of an arm.
const (
	Client = "client"
	Server = "server"
)

// Run is the run for which objects are made.
type Run struct {
	// ID is in all names: lower-case letters and digits, at most 12.
	ID string
	// Owner and Process say who runs nearfar; see AnnotationOwner.
	Owner, Process string
	// Now is the time of the plan. Pods have until Expires.
	Now, Expires time.Time
	// ICMP says that a workload uses ping, UDP that one uses UDP, Background that one has a background, Wire that an arm
	// expects an encapsulation, Inside that one is watched inside (see watchers.go).
	ICMP, UDP, Background, Wire, Inside bool
}

// Set is what nearfar makes in one namespace of one cluster.
type Set struct {
	Run Run
	// Context is the context of the kubeconfig.
	Context string
	// Namespace is the namespace; Made says that nearfar makes it.
	Namespace string
	Made      bool
	// Level is the level of the Pod Security Standards that the pods need: restricted, baseline or privileged. Why says
	// what needs more than restricted, a sentence for each reason.
	Level string
	Why   []string
	// Ready is how long the pods may take: the longest time of an arm.
	Ready time.Duration
	// Uses says for each arm what it uses.
	Uses map[string]Use

	made     *corev1.Namespace // nil if the namespace exists
	account  *corev1.ServiceAccount
	pods     []*corev1.Pod // in the order of creation: a pod comes after those that its affinity names
	services []*corev1.Service
	policy   *networkingv1.NetworkPolicy // nil for none
	// leave says that arms want no NetworkPolicy.
	leave bool
}

// Use is what an arm uses of a Set.
type Use struct {
	// Client and Server are names of pods; empty for a side that is a host of the file.
	Client, Server string
	// Through is one of the experiment.Through constants, Service the name of the Service; empty for ThroughPod.
	Through, Service string
	// Port is the first of the ports for measuring through the Service; 0 for the pod's.
	Port int
	// WatchKernel says that the arm asks for pods that watch the kernels of its nodes.
	WatchKernel bool
	// Pods are the declarations of the two sides; nil for a side that is a host of the file.
	ClientPod, ServerPod *experiment.Pod
}

// Plan says what has to be made for the arms that have pods. It only computes. The contexts of the arms must be
// resolved: two names of one context would give two Sets.
func Plan(run Run, arms []experiment.Arm) ([]*Set, error) {
	var sets []*Set
	own := map[*Set][]experiment.Arm{}
	for _, arm := range arms {
		k := arm.Kubernetes
		namespace := cmp.Or(k.Namespace, "nearfar-"+run.ID)
		at := slices.IndexFunc(sets, func(s *Set) bool { return s.Context == k.Context && s.Namespace == namespace })
		if at < 0 {
			at = len(sets)
			sets = append(sets, &Set{
				Run: run, Context: k.Context, Namespace: namespace, Made: k.Namespace == "", Uses: map[string]Use{},
			})
		}
		s := sets[at]
		s.Ready, own[s] = max(s.Ready, k.Ready), append(own[s], arm)
	}
	for _, s := range sets {
		if err := s.fill(own[s]); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// pair is the pods of arms that have equal pods.
type pair struct {
	key, place     string
	name           string
	client, server *experiment.Pod
	nodes          string
	// open says that a NetworkPolicy admits the traffic of the pods.
	open bool
	arms []string
	// leader is the first pair with the same placement: this pair is put on its nodes. It is nil for the first one.
	leader *pair
}

// fill plans the objects of the set.
func (s *Set) fill(arms []experiment.Arm) error {
	var pairs []*pair
	of := map[string]*pair{}
	for _, arm := range arms {
		k := arm.Kubernetes
		key := written(arm.Client, arm.Server, made(k.Client), made(k.Server), k.Nodes, k.Policy)
		at := slices.IndexFunc(pairs, func(p *pair) bool { return p.key == key })
		if at < 0 {
			at = len(pairs)
			p := &pair{
				key: key, place: written(placement(k.Client), placement(k.Server), k.Nodes),
				name: fmt.Sprintf("p%d", at+1), client: k.Client, server: k.Server, nodes: k.Nodes,
				open: k.Policy != experiment.PolicyLeave,
			}
			if first := slices.IndexFunc(pairs, func(o *pair) bool { return o.place == p.place }); first >= 0 {
				p.leader = pairs[first]
			}
			pairs = append(pairs, p)
		}
		pairs[at].arms = append(pairs[at].arms, arm.Name)
		of[arm.Name] = pairs[at]
	}
	for _, p := range pairs {
		if err := s.addPods(p); err != nil {
			return err
		}
	}
	for i, arm := range arms {
		s.addUse(arm, of[arm.Name], i+1)
	}
	s.judge()
	if s.Made {
		s.made = s.namespace()
	}
	s.account = s.serviceAccount()
	var open []string
	for _, p := range pairs {
		if p.open {
			open = append(open, p.name)
		}
	}
	s.leave = len(open) < len(pairs)
	if len(open) > 0 {
		s.policy = s.networkPolicy(arms, open)
	}
	return nil
}

// made is the part of a pod's declaration that describes the pod, without the part that describes how an arm uses it.
// Arms that differ only in the latter share the pod (experiment.PodsOf).
func made(p *experiment.Pod) *experiment.Pod {
	if p == nil {
		return nil
	}
	m := *p
	m.Port, m.Interface, m.Tools = 0, "", nil
	return &m
}

// placement is the part of a pod's declaration that says where it runs.
func placement(p *experiment.Pod) any {
	if p == nil {
		return nil
	}
	return []any{p.Node, p.NodeSelector, p.Zone, p.Affinity, p.Tolerations, p.OS}
}

// written gives values as one JSON text, for comparisons.
func written(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // plain data always has a text
	}
	return string(text)
}

// addUse says what an arm uses, and plans its Service. n counts the arms from 1.
func (s *Set) addUse(arm experiment.Arm, p *pair, n int) {
	k := arm.Kubernetes
	use := Use{Through: k.Through, WatchKernel: k.WatchKernel, ClientPod: k.Client, ServerPod: k.Server}
	if use.Through == "" || k.Server == nil {
		use.Through = experiment.ThroughPod
	}
	if k.Client != nil {
		use.Client = s.podName(p, Client)
	}
	if k.Server != nil {
		use.Server = s.podName(p, Server)
	}
	if use.Through != experiment.ThroughPod {
		use.Service = fmt.Sprintf("nearfar-%s-s%d", s.Run.ID, n)
		use.Port = firstPort(k.Server)
		if use.Through == experiment.ThroughNodePort && k.Server.Port == 0 {
			use.Port = nodePort(s.Run.ID, arm.Name, 0)
		}
		s.services = append(s.services, s.service(use, p, arm.Name, k.Service))
	}
	s.Uses[arm.Name] = use
}

// nodePort draws the first of four node ports. Each attempt gives another one. It depends on the run and the arm alone,
// so that a plan can be printed.
func nodePort(id, arm string, attempt int) int {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%d", id, arm, attempt)
	const last = experiment.MaxNodePort - measuringPorts + 1
	return experiment.MinNodePort + int(h.Sum32()%(last-experiment.MinNodePort+1))
}

// podName is the name of a pod.
func (s *Set) podName(p *pair, side string) string {
	return fmt.Sprintf("nearfar-%s-%s-%s", s.Run.ID, p.name, side)
}

// labels are those of all objects of the run, with further ones.
func (s *Set) labels(further ...string) map[string]string {
	all := map[string]string{LabelManaged: Manager, LabelRun: s.Run.ID}
	for i := 0; i+1 < len(further); i += 2 {
		all[further[i]] = further[i+1]
	}
	return all
}

func (s *Set) annotations(arms ...string) map[string]string {
	all := map[string]string{
		AnnotationOwner: s.Run.Owner, AnnotationExpires: s.Run.Expires.UTC().Format(time.RFC3339),
	}
	if s.Run.Process != "" {
		all[AnnotationProcess] = s.Run.Process
	}
	if len(arms) > 0 {
		all[AnnotationArms] = strings.Join(arms, ",")
	}
	return all
}

// judge finds the level of Pod Security that all pods need.
func (s *Set) judge() {
	s.Level, s.Why = Restricted, nil
	for _, pod := range s.pods {
		level, why := podLevel(pod)
		if rank(level) > rank(s.Level) {
			s.Level = level
		}
		for _, reason := range why {
			text := fmt.Sprintf("arm %s: the %s's pod %s", firstArm(pod), pod.Labels[LabelSide], reason)
			if !slices.Contains(s.Why, text) {
				s.Why = append(s.Why, text)
			}
		}
	}
	for _, text := range s.watcherTexts() {
		s.Level, s.Why = Privileged, append(s.Why, text)
	}
}

func firstArm(pod *corev1.Pod) string {
	first, _, _ := strings.Cut(pod.Annotations[AnnotationArms], ",")
	return first
}

// Objects are all objects of the set, in the order of their creation.
func (s *Set) Objects() []runtime.Object {
	var all []runtime.Object
	if s.made != nil {
		all = append(all, s.made)
	}
	all = append(all, s.account)
	if s.policy != nil {
		all = append(all, s.policy)
	}
	for _, service := range s.services {
		all = append(all, service)
	}
	for _, pod := range s.pods {
		all = append(all, pod)
	}
	return all
}

// Pods is how many pods the set has.
func (s *Set) Pods() int { return len(s.pods) }
