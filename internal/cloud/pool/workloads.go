package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Workload is what makes pods again after they were evicted.
type Workload struct {
	Namespace string `json:"namespace"`
	// Kind is Deployment, StatefulSet, ReplicaSet, ReplicationController, or the kind of another controller.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Ready is how many of its pods were ready when the migration first saw it.
	Ready int `json:"ready"`
}

// String is "Deployment default/web".
func (w Workload) String() string { return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name) }

func (w Workload) same(o Workload) bool {
	return w.Namespace == o.Namespace && w.Kind == o.Kind && w.Name == o.Name
}

// The kinds of controllers that are treated in a way of their own.
const (
	kindDeployment = "Deployment"
	kindReplicaSet = "ReplicaSet"
	kindJob        = "Job"
)

// owners finds the workloads of pods. It remembers the ReplicaSets that it has read.
type owners struct {
	cluster *Cluster
	sets    map[string]Workload // by namespace/name of the ReplicaSet
}

func (c *Cluster) owners() *owners { return &owners{c, map[string]Workload{}} }

// of is the workload of a pod; ok is false if no controller has made it. The owner of a ReplicaSet is its Deployment.
func (o *owners) of(ctx context.Context, p *corev1.Pod) (w Workload, ok bool, err error) {
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return w, false, nil
	}
	w = Workload{Namespace: p.Namespace, Kind: owner.Kind, Name: owner.Name}
	if owner.Kind != kindReplicaSet {
		return w, true, nil
	}
	key := p.Namespace + "/" + owner.Name
	if known, found := o.sets[key]; found {
		return known, true, nil
	}
	set, err := o.cluster.client.AppsV1().ReplicaSets(p.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return w, false, fmt.Errorf("reading %s: %w", w, err)
	default:
		if above := metav1.GetControllerOf(set); above != nil {
			w.Kind, w.Name = above.Kind, above.Name
		}
	}
	o.sets[key] = w
	return w, true, nil
}

// wanted is how many pods a workload asks for; known is false for kinds that this package does not know. A workload
// that no longer exists wants none.
func (c *Cluster) wanted(ctx context.Context, w Workload) (n int, known bool, err error) {
	var replicas *int32
	apps := c.client.AppsV1()
	switch w.Kind {
	case kindDeployment:
		d, e := apps.Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err = e; err == nil {
			replicas = d.Spec.Replicas
		}
	case "StatefulSet":
		d, e := apps.StatefulSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err = e; err == nil {
			replicas = d.Spec.Replicas
		}
	case kindReplicaSet:
		d, e := apps.ReplicaSets(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err = e; err == nil {
			replicas = d.Spec.Replicas
		}
	case "ReplicationController":
		d, e := c.client.CoreV1().ReplicationControllers(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		if err = e; err == nil {
			replicas = d.Spec.Replicas
		}
	default:
		return 0, false, nil
	}
	switch {
	case apierrors.IsNotFound(err):
		return 0, true, nil
	case err != nil:
		return 0, false, fmt.Errorf("reading %s: %w", w, err)
	case replicas == nil:
		return 1, true, nil // the default of the API
	}
	return int(*replicas), true, nil
}

// readyOf counts the ready pods of workloads, by the text of the workload. It counts pods, because the status of a
// controller lags behind: right after an eviction it still shows the evicted pod.
func (c *Cluster) readyOf(ctx context.Context, workloads []Workload) (map[string]int, error) {
	ready := map[string]int{}
	owners := c.owners()
	seen := map[string]bool{}
	for _, w := range workloads {
		if seen[w.Namespace] {
			continue
		}
		seen[w.Namespace] = true
		pods, err := c.pods(ctx, w.Namespace, "")
		if err != nil {
			return nil, err
		}
		for i := range pods {
			if !podReady(&pods[i]) {
				continue
			}
			of, ok, err := owners.of(ctx, &pods[i])
			if err != nil {
				return nil, err
			}
			if ok {
				ready[of.String()]++
			}
		}
	}
	return ready, nil
}

// lacking says which workloads have fewer ready pods than before and than they ask for. A workload that was not whole
// before is not waited for to become whole. Jobs are not waited for: their pods end.
func (c *Cluster) lacking(ctx context.Context, workloads []Workload) ([]string, error) {
	ready, err := c.readyOf(ctx, workloads)
	if err != nil {
		return nil, err
	}
	var lack []string
	for _, w := range workloads {
		if w.Kind == kindJob || ready[w.String()] >= w.Ready {
			continue
		}
		want, known, err := c.wanted(ctx, w)
		if err != nil {
			return nil, err
		}
		if !known {
			want = w.Ready
		}
		if want = min(want, w.Ready); ready[w.String()] < want {
			lack = append(lack, fmt.Sprintf("%s has %d of %d pods ready", w, ready[w.String()], want))
		}
	}
	return lack, nil
}

// notice adds the workloads of pods to those that the migration knows, with their ready pods of now. It reports whether
// there were new ones.
func (c *Cluster) notice(ctx context.Context, s *State, pods []corev1.Pod) (bool, error) {
	owners := c.owners()
	var added []Workload
	for i := range pods {
		if stays(&pods[i]) || finished(&pods[i]) {
			continue
		}
		w, ok, err := owners.of(ctx, &pods[i])
		if err != nil {
			return false, err
		}
		if ok && !slices.ContainsFunc(s.Workloads, w.same) && !slices.ContainsFunc(added, w.same) {
			added = append(added, w)
		}
	}
	if len(added) == 0 {
		return false, nil
	}
	ready, err := c.readyOf(ctx, added)
	if err != nil {
		return false, err
	}
	for _, w := range added {
		w.Ready = ready[w.String()]
		s.Workloads = append(s.Workloads, w)
	}
	return true, nil
}

// joined is a list for a message, cut after some elements.
func joined(all []string) string {
	const most = 8
	if len(all) > most {
		return strings.Join(all[:most], "; ") + fmt.Sprintf("; and %d more", len(all)-most)
	}
	return strings.Join(all, "; ")
}
