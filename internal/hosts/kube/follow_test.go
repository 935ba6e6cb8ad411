package kube

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"nearfar/internal/declare/experiment"
)

// within waits for a condition.
func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// TestTrialsAskNothingOfTheAPI: the pods are watched, so that a trial is not a request for each of them. A pod that was
// deleted is noticed, and where no watch runs, the pod is asked for.
func TestTrialsAskNothingOfTheAPI(t *testing.T) {
	c, client := fakeCluster(nil)
	d := c.New(plan(t, testRun(), between("a", experiment.ThroughPod, linuxPod(), linuxPod()))[0], func(string) {})
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	watches := make(chan *watch.FakeWatcher, 1)
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		w := watch.NewFake()
		watches <- w
		return true, w, nil
	})
	d.Follow()
	defer d.unfollow()
	w := <-watches
	name := d.Set.Uses["a"].Server
	known := func() bool { _, known := d.latest(name); return known }
	within(t, "the watch runs", known)
	client.ClearActions()
	for range 3 {
		if got := d.Observe(t.Context(), name); got != (Observed{Pod: name, Node: "n1"}) {
			t.Errorf("observed %+v", got)
		}
	}
	if asked := client.Actions(); len(asked) > 0 {
		t.Errorf("it asked for %v", asked)
	}
	ending := d.pod(name).DeepCopy()
	now := metav1.Now()
	ending.DeletionTimestamp = &now
	w.Modify(ending)
	within(t, "a pod that is being deleted is noticed", func() bool {
		return strings.Contains(d.Observe(t.Context(), name).Changed, "is being deleted")
	})
	w.Delete(ending)
	within(t, "a deleted pod is noticed", func() bool {
		return strings.Contains(d.Observe(t.Context(), name).Changed, "was deleted")
	})
	client.ClearActions()
	w.Stop()
	within(t, "the end of the watch is noticed", func() bool { return !known() })
	if got := d.Observe(t.Context(), name); got.Unknown || got.Changed != "" {
		t.Errorf("asked for: %+v", got)
	}
	gets := slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() == "get" })
	if !gets {
		t.Errorf("without a watch it asked only for %v", client.Actions())
	}
	(<-watches).Stop() // it watches again
}

// TestFloodOfEvents: a server that sends events without end is not watched for ever.
func TestFloodOfEvents(t *testing.T) {
	c, client := fakeCluster(nil)
	d := c.New(plan(t, testRun(), between("a", experiment.ThroughPod, linuxPod(), linuxPod()))[0], func(string) {})
	if err := d.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	pod := d.pod(d.Set.Uses["a"].Server)
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		events := make(chan watch.Event)
		w := watch.NewProxyWatcher(events)
		go func() {
			for {
				select {
				case events <- watch.Event{Type: watch.Modified, Object: runtime.Object(pod)}:
				case <-w.StopChan():
					return
				}
			}
		}()
		return true, w, nil
	})
	d.Follow()
	d.mu.Lock()
	f := d.follower
	d.mu.Unlock()
	select {
	case <-f.ended:
	case <-time.After(20 * time.Second):
		t.Error("it is watched for ever")
	}
	if got := d.Observe(t.Context(), pod.Name); got.Unknown || got.Changed != "" {
		t.Errorf("observed %+v", got)
	}
	d.unfollow()
}
