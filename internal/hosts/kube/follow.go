package kube

import (
	"context"
	"iter"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A follower knows what the API server says of the pods of a set, without a question for each trial: it watches them.
type follower struct {
	stop  context.CancelFunc
	ended chan struct{}

	mu sync.Mutex
	// current says that a watch runs. pods are then as the last event said; one that was deleted is missing.
	current bool
	pods    map[string]*corev1.Pod
}

const (
	// followPause is the time before the next watch, after one ended. API servers end a watch after some minutes.
	followPause = time.Second
	// mostEvents is how many events a watch may have. The pods of a run change a few times each. A server that sends
	// more is not watched any more, and asked after each trial.
	mostEvents = 10_000
)

// Follow watches the pods from now on, until Remove. It is called after Make.
func (d *Deployed) Follow() {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{stop: cancel, ended: make(chan struct{})}
	d.mu.Lock()
	d.follower = f
	d.mu.Unlock()
	go func() {
		defer close(f.ended)
		for events := 0; events < mostEvents; {
			events += f.once(ctx, d)
			f.set(nil, false)
			if !pause(ctx, followPause) {
				return
			}
		}
	}()
}

// unfollow ends the watch.
func (d *Deployed) unfollow() {
	d.mu.Lock()
	f := d.follower
	d.follower = nil
	d.mu.Unlock()
	if f != nil {
		f.stop()
		<-f.ended
	}
}

// once lists the pods and watches them until the watch ends. It returns the number of events.
func (f *follower) once(ctx context.Context, d *Deployed) (events int) {
	pods := d.cluster.client.CoreV1().Pods(d.Set.Namespace)
	selector := d.Set.runSelector()
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	list, err := pods.List(limited, metav1.ListOptions{LabelSelector: selector})
	cancel()
	if err != nil {
		return 0
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: list.ResourceVersion})
	if err != nil {
		return 0
	}
	defer w.Stop()
	now := map[string]*corev1.Pod{}
	for i := range list.Items {
		if d.pod(list.Items[i].Name) != nil {
			now[list.Items[i].Name] = &list.Items[i]
		}
	}
	f.set(now, true)
	for event, pod := range podEvents(ctx, w, mostEvents) {
		events++
		if d.pod(pod.Name) == nil || event == watch.Bookmark {
			continue
		}
		f.mu.Lock()
		if event == watch.Deleted {
			delete(f.pods, pod.Name)
		} else {
			f.pods[pod.Name] = pod
		}
		f.mu.Unlock()
	}
	return events
}

// podEvents are at most so many events of a watch, until it or ctx ends.
func podEvents(ctx context.Context, w watch.Interface, most int) iter.Seq2[watch.EventType, *corev1.Pod] {
	return func(yield func(watch.EventType, *corev1.Pod) bool) {
		for range most {
			select {
			case e := <-w.ResultChan(): // without an object when the watch has ended
				if pod, isPod := e.Object.(*corev1.Pod); !isPod || !yield(e.Type, pod) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *follower) set(pods map[string]*corev1.Pod, current bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pods, f.current = pods, current
}

// latest is a pod as the API server said last; nil if it was deleted. known is false if no watch runs.
func (d *Deployed) latest(name string) (pod *corev1.Pod, known bool) {
	d.mu.Lock()
	f := d.follower
	d.mu.Unlock()
	if f == nil {
		return nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pods[name], f.current
}
