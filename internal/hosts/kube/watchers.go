package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
)

// A pod does not see the devices of its node. If an arm expects an encapsulation, nearfar puts one pod more on each
// node that has a pod of an arm: a watcher, which has the node's network and the capability NET_RAW, and from which
// only the agent's watch of packets is used. A run goes on without watchers where they are refused.

// sideWatcher is the label of watchers in place of a side.
const sideWatcher = "wire"

// watcherReady is how long watchers may take.
const watcherReady = 45 * time.Second

// watcher plans the pod that watches a node. like is a pod of an arm on that node: its image is there.
func (s *Set) watcher(node string, number int, like *experiment.Pod, arms []string) (*corev1.Pod, error) {
	declared := s.declaredWatcher(node, like)
	return s.pod(&pair{name: fmt.Sprintf("w%d", number), arms: arms}, sideWatcher, declared)
}

func (s *Set) declaredWatcher(node string, like *experiment.Pod) *experiment.Pod {
	return &experiment.Pod{
		Node: node, HostNetwork: true, Image: like.Image, AgentImage: like.AgentImage,
		ImagePullSecrets: like.ImagePullSecrets,
		// Where the pod of the arm may be, the watcher may be.
		Tolerations: json.RawMessage(`[{"operator":"Exists"}]`),
		// It takes nothing from the pods that are measured.
		Resources: json.RawMessage(`{}`),
		SecurityContext: json.RawMessage(`{"runAsUser":0,"runAsGroup":0,"runAsNonRoot":false,` +
			`"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"],"add":["NET_RAW"]}}`),
	}
}

// watched are the arms of a set in which both pods run on Linux: others have no watchers.
func (s *Set) watched() (arms []string) {
	if !s.Run.Wire {
		return nil
	}
	for arm, use := range s.Uses {
		if !IsWindows(use.ClientPod) && !IsWindows(use.ServerPod) {
			arms = append(arms, arm)
		}
	}
	slices.Sort(arms)
	return arms
}

// Watcher is the pod that watches a node.
type Watcher struct {
	// Pod is its name; empty if there is none, and Problem says why.
	Pod, Problem string
}

// MakeWatchers makes a watcher on each node with a pod of an arm, and waits until they are ready. It is called after
// Make. The result has each node.
func (d *Deployed) MakeWatchers(ctx context.Context) map[string]Watcher {
	arms := d.Set.watched()
	if len(arms) == 0 {
		return nil
	}
	likes := map[string]*experiment.Pod{}
	var nodes []string
	d.mu.Lock()
	for name, pod := range d.pods {
		if declared := d.declared[name]; declared != nil && !IsWindows(declared) && likes[pod.Spec.NodeName] == nil {
			likes[pod.Spec.NodeName] = declared
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	d.mu.Unlock()
	slices.Sort(nodes)
	ctx, cancel := context.WithTimeoutCause(ctx, watcherReady, errNotReady)
	defer cancel()
	all := map[string]Watcher{}
	var mu sync.Mutex
	var making sync.WaitGroup
	for i, node := range nodes {
		making.Go(func() {
			w := Watcher{}
			pod, err := d.Set.watcher(node, i+1, likes[node], arms)
			if err == nil {
				err = d.makeWatcher(ctx, pod, node, likes[node])
			}
			if err == nil {
				w.Pod = pod.Name
			} else {
				w.Problem = fmt.Sprintf("node %s cannot be watched: %s", node, clean.Line(err.Error()))
			}
			mu.Lock()
			defer mu.Unlock()
			all[node] = w
		})
	}
	making.Wait()
	return all
}

// makeWatcher makes one watcher and waits until it is ready.
func (d *Deployed) makeWatcher(ctx context.Context, pod *corev1.Pod, node string, like *experiment.Pod) error {
	pods := d.cluster.client.CoreV1().Pods(d.Set.Namespace)
	if err := makeOne(ctx, pods, "pod "+pod.Name, pod); err != nil {
		return err
	}
	for {
		now, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil {
			s := stateOf(now, nil, func(string) string { return "" })
			if s.ready {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.pods[pod.Name], d.declared[pod.Name] = now, d.Set.declaredWatcher(node, like)
				return nil
			}
			if s.hopeless {
				return errors.New("pod " + pod.Name + ": " + s.why)
			}
		}
		if !pause(ctx, pausePoll) {
			return fmt.Errorf("pod %s was not ready within %v", pod.Name, watcherReady)
		}
	}
}

// Node is the name of the node on which a pod runs; empty if that is not known.
func (d *Deployed) Node(pod string) string {
	if p := d.pod(pod); p != nil {
		return p.Spec.NodeName
	}
	return ""
}

// watcherText says, for a person who reads the plan, what watchers are made; empty for none.
func (s *Set) watcherText() string {
	arms := s.watched()
	if len(arms) == 0 {
		return ""
	}
	return fmt.Sprintf("an arm expects an encapsulation: on each node with a pod of the arms %s comes a pod with the "+
		"node's network and NET_RAW, which looks at the headers of the trials' packets", strings.Join(arms, ", "))
}

// printWatcher prints the pod of one node, with a name in place of the node's: which nodes there are is known when the
// pods run.
func (s *Set) printWatcher(w io.Writer) error {
	arms := s.watched()
	if len(arms) == 0 {
		return nil
	}
	like := cmp.Or(s.Uses[arms[0]].ClientPod, s.Uses[arms[0]].ServerPod)
	pod, err := s.watcher("NODE", 1, like, arms)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# On each NODE with a pod above, once they run; the run goes on if this is refused:\n")
	return printAll(w, []runtime.Object{pod})
}
