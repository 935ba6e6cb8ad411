//go:build linux

package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// A readyWatch counts the ready pods of the Deployment whenever one of them changes.
type readyWatch struct {
	client *kubernetes.Clientset

	mu          sync.Mutex
	least, most int
	changes     int
}

// minimum is what the PodDisruptionBudget asks for.
const minimum = 1

// watchReady watches until the test ends, and fails it if the Deployment had fewer ready pods than its budget asks for.
func watchReady(t *testing.T, client *kubernetes.Clientset) *readyWatch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &readyWatch{client: client, least: 1 << 20}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := w.follow(ctx); err != nil {
				time.Sleep(100 * time.Millisecond) // the API server did not answer
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		t.Logf("%d changes of the Deployment's pods: %d to %d were ready", w.changes, w.least, w.most)
		if w.changes == 0 || w.least < minimum {
			t.Errorf("the Deployment had only %d ready pods at a time, and its budget asks for %d", w.least, minimum)
		}
	})
	return w
}

// follow lists the pods and counts them after each change, until the API server ends the watch.
func (w *readyWatch) follow(ctx context.Context) error {
	api := w.client.CoreV1().Pods("default")
	list, err := api.List(ctx, webPods())
	if err != nil {
		return err
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	w.count(pods)
	changed := webPods()
	changed.ResourceVersion = list.ResourceVersion
	events, err := api.Watch(ctx, changed)
	if err != nil {
		return err
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok {
			return nil // the list is too old
		}
		if pods[pod.Name] = pod; e.Type == watch.Deleted {
			delete(pods, pod.Name)
		}
		w.count(pods)
	}
	return nil
}

// count notes how many pods are ready.
func (w *readyWatch) count(pods map[string]*corev1.Pod) {
	ready := 0
	for _, p := range pods {
		if isReady(p) {
			ready++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	w.least, w.most = min(w.least, ready), max(w.most, ready)
}

// webPods selects the pods of the Deployment.
func webPods() metav1.ListOptions { return metav1.ListOptions{LabelSelector: "app=web"} }

// isReady says that a pod is ready. A pod that is being deleted is not.
func isReady(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// pods are the ready pods of the Deployment, which must be two.
func (w *readyWatch) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := w.client.CoreV1().Pods("default").List(t.Context(), webPods())
	if err != nil {
		t.Fatal(err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !isReady(&p) })
	if len(pods) != 2 {
		t.Fatalf("the Deployment has %d ready pods, want 2", len(pods))
	}
	return pods
}
