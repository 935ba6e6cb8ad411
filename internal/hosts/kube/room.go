package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"

	"nearfar/internal/base/clean"
)

// What a pod takes of a node, as far as it is added up: CPU, memory, and its place among the node's pods.
var addedUp = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}

const (
	// pageSize is how many objects are asked for at a time, so that an answer stays below maxAnswer.
	pageSize = 500
	// mostPages is more than the largest clusters need: 5000 nodes, 150,000 pods (Kubernetes' documentation,
	// Considerations for large clusters).
	mostPages = 300
)

// inPages asks for a list in pages. whole says that ask got all of it.
func inPages(ask func(metav1.ListOptions) (next string, err error)) (whole bool, err error) {
	o := metav1.ListOptions{Limit: pageSize}
	for range mostPages {
		if o.Continue, err = ask(o); err != nil || o.Continue == "" {
			return err == nil, err
		}
	}
	return false, nil
}

// checkRoom compares the pods of the set with the nodes before anything is made: it is an error if a node that the file
// names does not exist, or has no room for the pods that must run there. A cluster may add nodes for all other pods, so
// that they have no room is only noted. It says nothing of what the user may not look at: without the right to list
// nodes nothing, without the right to list pods nothing of what other pods ask for.
func (c *Cluster) checkRoom(ctx context.Context, s *Set, note func(text string)) error {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	nodes := map[string]*node{}
	whole, err := inPages(func(o metav1.ListOptions) (string, error) {
		list, err := c.client.CoreV1().Nodes().List(limited, o)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			n := &list.Items[i]
			nodes[n.Name] = &node{free: n.Status.Allocatable.DeepCopy(), Node: &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
				Spec:       corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints},
				Status:     corev1.NodeStatus{Allocatable: n.Status.Allocatable},
			}}
		}
		return list.Continue, nil
	})
	if err != nil || !whole {
		return ctx.Err() // the scheduler decides
	}
	whole, err = inPages(func(o metav1.ListOptions) (string, error) {
		list, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(limited, o)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			takeFrom(nodes, &list.Items[i])
		}
		return list.Continue, nil
	})
	if !whole && !apierrors.IsForbidden(err) {
		return ctx.Err()
	}
	return s.fit(nodes, note)
}

// node is a node, and what is free of it.
type node struct {
	*corev1.Node
	free corev1.ResourceList
}

// takeFrom takes what a pod asks for from its node.
func takeFrom(nodes map[string]*node, pod *corev1.Pod) {
	n := nodes[pod.Spec.NodeName]
	if n == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	for name, amount := range requested(pod) {
		left := n.free[name]
		left.Sub(amount)
		n.free[name] = left
	}
}

// requested is what the scheduler keeps for a pod, with its place among the node's pods.
func requested(pod *corev1.Pod) corev1.ResourceList {
	sum := podresource.PodRequests(pod, podresource.PodResourcesOptions{})
	sum[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return sum
}

// fit says which pods have no room on the nodes.
func (s *Set) fit(nodes map[string]*node, note func(text string)) error {
	var errs []error
	named := map[string][]*corev1.Pod{}
	for _, pod := range s.pods {
		at := namedNode(pod)
		switch {
		case at == "":
			s.fitAnywhere(nodes, pod, note)
		case nodes[at] == nil:
			errs = append(errs, fmt.Errorf("arm %s: there is no node %s in context %s; there are %s", firstArm(pod),
				clean.Line(at), clean.Line(s.Context), someNames(slices.Sorted(maps.Keys(nodes)))))
		default:
			named[at] = append(named[at], pod)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(named)) {
		if n := nodes[at]; n.Spec.Unschedulable {
			errs = append(errs, fmt.Errorf("node %s takes no new pods (it is cordoned)", clean.Line(at)))
		} else if err := n.roomFor(named[at]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// namedNode is the node on which the pod must run, as the file names it; empty for none.
func namedNode(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == "metadata.name" && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// someNames lists names, and counts those beyond the first ten.
func someNames(names []string) string {
	const most = 10
	if len(names) == 0 {
		return "none"
	}
	for i := range names {
		names[i] = clean.Line(names[i])
	}
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

// roomFor says whether the node has room for pods that must all run there.
func (n *node) roomFor(pods []*corev1.Pod) error {
	all := corev1.ResourceList{}
	for _, pod := range pods {
		for name, amount := range requested(pod) {
			sum := all[name]
			sum.Add(amount)
			all[name] = sum
		}
	}
	if name, ok := n.lacks(all); !ok {
		has, left, want := n.Status.Allocatable[name], n.free[name], all[name]
		if left.Sign() < 0 {
			left = resource.Quantity{}
		}
		return fmt.Errorf("node %s has no room: this experiment asks there for %s of %s, in %d pods, and %s of %s are "+
			"free; let them ask for less (resources: {requests: {cpu: 50m}}), or name other nodes", clean.Line(n.Name),
			want.String(), name, len(pods), left.String(), has.String())
	}
	return nil
}

// lacks names a resource of which the node has not enough; true if it has enough of all.
func (n *node) lacks(want corev1.ResourceList) (corev1.ResourceName, bool) {
	for _, name := range addedUp {
		amount, asked := want[name]
		left, known := n.free[name]
		if asked && known && left.Cmp(amount) < 0 {
			return name, false
		}
	}
	return "", true
}

// fitAnywhere notes that no node of the cluster can take the pod now.
func (s *Set) fitAnywhere(nodes map[string]*node, pod *corev1.Pod, note func(text string)) {
	matching, want := 0, requested(pod)
	for _, n := range nodes {
		if !n.admits(pod) {
			continue
		}
		matching++
		if _, ok := n.lacks(want); ok {
			return
		}
	}
	what := "no node has room for what it asks for"
	if matching == 0 {
		what = "no node has the labels that it asks for and only taints that it tolerates"
	}
	note(fmt.Sprintf("arm %s: the %s's pod: %s; the run waits for the cluster to add one", firstArm(pod),
		pod.Labels[LabelSide], what))
}

// admits says whether the node may take the pod, by labels and taints. Affinity is the scheduler's.
func (n *node) admits(pod *corev1.Pod) bool {
	if n.Spec.Unschedulable {
		return false
	}
	for label, value := range pod.Spec.NodeSelector {
		if n.Labels[label] != value {
			return false
		}
	}
	strict := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, refused := corehelpers.FindMatchingUntoleratedTaint(n.Spec.Taints, pod.Spec.Tolerations, strict)
	return !refused
}
