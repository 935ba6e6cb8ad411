package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/drain"
)

// setCordon cordons or uncordons a node. It does nothing if the node no longer exists or has that state already. It
// reports whether it changed the node.
func (c *Cluster) setCordon(ctx context.Context, node string, cordon bool) (bool, error) {
	n, err := c.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading node %s: %w", node, err)
	}
	h := drain.NewCordonHelper(n)
	if !h.UpdateIfRequired(cordon) {
		return false, nil
	}
	// The second error says why a patch was not possible; the first one is of the update in its place.
	if err, _ := h.PatchOrReplaceWithContext(ctx, c.client, false); err != nil {
		return false, fmt.Errorf("node %s: %w", node, err)
	}
	return true, nil
}

// watchBudgets is how often a drain looks which budgets hold it up.
const watchBudgets = 2 * time.Second

// drainNode evicts the pods of a node and waits until they are gone. It takes limit at most. It returns at once when
// ctx ends; the library's own goroutines end a few seconds later, and evict nothing more.
func (c *Cluster) drainNode(ctx context.Context, node string, s *State, say func(string, ...any)) error {
	limit := s.Limits.Drain
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &drain.Helper{
		Ctx: inner, Client: c.client, Force: s.Consent.Unmanaged, GracePeriodSeconds: s.GracePeriod,
		IgnoreAllDaemonSets: true, Timeout: limit, DeleteEmptyDirData: s.Consent.EmptyDir, ChunkSize: pageSize,
		Out: io.Discard, ErrOut: io.Discard,
		OnPodDeletionOrEvictionFinished: func(p *corev1.Pod, _ bool, err error) {
			if err == nil {
				say("  %s/%s is gone from %s", p.Namespace, p.Name, node)
			}
		},
	}
	list, errs := h.GetPodsForDeletion(node)
	if len(errs) > 0 {
		return fmt.Errorf("node %s cannot be drained: %w", node, errors.Join(errs...))
	}
	ended := make(chan error, 1)
	go func() { ended <- h.DeleteOrEvictPods(list.Pods()) }()
	return c.awaitDrain(ctx, node, limit, ended, say)
}

// awaitDrain waits for the end of a drain, and says which budgets hold it up when that changes.
func (c *Cluster) awaitDrain(
	ctx context.Context, node string, limit time.Duration, ended <-chan error, say func(string, ...any),
) error {
	look := time.NewTicker(watchBudgets)
	defer look.Stop()
	// The library looks at its limit only between evictions, every 5 s.
	over := time.After(limit)
	var said []string
	for {
		select {
		case err := <-ended:
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return c.notDrained(ctx, node, err)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return c.notDrained(ctx, node, fmt.Errorf("it is not empty after %v", limit))
		case <-look.C:
			blocked, err := c.blocking(ctx, node)
			if err == nil && len(blocked) > 0 && !slices.Equal(blocked, said) {
				said = blocked
				say("  waiting: %s", strings.Join(blocked, "; "))
			}
		}
	}
}

// notDrained adds to the error of a drain which budgets hold it up.
func (c *Cluster) notDrained(ctx context.Context, node string, err error) error {
	err = fmt.Errorf("node %s: %w", node, err)
	blocked, problem := c.blocking(ctx, node)
	if problem == nil && len(blocked) > 0 {
		err = fmt.Errorf("%w; %s", err, strings.Join(blocked, "; "))
	}
	return err
}

// left lists the pods on a node that a drain should have moved.
func (c *Cluster) left(ctx context.Context, node string) ([]string, error) {
	pods, err := c.podsOn(ctx, node)
	if err != nil {
		return nil, err
	}
	var left []string
	for i := range pods {
		if p := &pods[i]; !stays(p) && !finished(p) {
			left = append(left, p.Namespace+"/"+p.Name)
		}
	}
	return left, nil
}
