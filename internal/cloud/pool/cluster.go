package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubectl/pkg/util/podutils"
)

// pageSize is how many objects one answer of the API server holds.
const pageSize = 500

// UID identifies the cluster, so that a migration is not continued on another one. It is empty if the user may not read
// the namespace kube-system.
func (c *Cluster) UID(ctx context.Context) string {
	n, err := c.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return string(n.UID)
}

// nodes lists the nodes that a selector finds, by name.
func (c *Cluster) nodes(ctx context.Context, selector string) ([]corev1.Node, error) {
	if _, err := labels.Parse(selector); err != nil {
		return nil, fmt.Errorf("the selector %q: %w", selector, err)
	}
	var all []corev1.Node
	o := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := c.client.CoreV1().Nodes().List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("listing nodes: %w", err)
		}
		all = append(all, page.Items...)
		if o.Continue = page.Continue; o.Continue == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// bothPools lists the nodes of the old and of the new pool. A node in both is an error.
func (c *Cluster) bothPools(ctx context.Context, s *State) (old, new []corev1.Node, err error) {
	if old, err = c.nodes(ctx, s.Old.Selector); err != nil {
		return nil, nil, err
	}
	if new, err = c.nodes(ctx, s.New.Selector); err != nil {
		return nil, nil, err
	}
	for _, n := range new {
		if slices.ContainsFunc(old, func(o corev1.Node) bool { return o.Name == n.Name }) {
			return nil, nil, fmt.Errorf("node %s is in both pools", n.Name)
		}
	}
	return old, new, nil
}

// podsOn lists the pods of a node.
func (c *Cluster) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	return c.pods(ctx, metav1.NamespaceAll, fields.SelectorFromSet(fields.Set{"spec.nodeName": node}).String())
}

func (c *Cluster) pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	var all []corev1.Pod
	o := metav1.ListOptions{FieldSelector: selector, Limit: pageSize}
	for {
		page, err := c.client.CoreV1().Pods(namespace).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		all = append(all, page.Items...)
		if o.Continue = page.Continue; o.Continue == "" {
			return all, nil
		}
	}
}

// isReady says that a node takes pods now.
func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue && !n.Spec.Unschedulable && n.DeletionTimestamp == nil
		}
	}
	return false
}

func podReady(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && podutils.IsPodReady(p) }

// finished says that a pod has ended and will not run again. Evicting it loses nothing.
func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// stays says that a pod belongs to its node: of a DaemonSet, or a static pod of the kubelet. A drain leaves it.
func stays(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == "apps/v1" && !finished(p)
}

// errNoNodes says that a selector finds nothing.
var errNoNodes = errors.New("no node has this label")
