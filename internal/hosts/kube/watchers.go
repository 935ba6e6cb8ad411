package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// A pod does not see the devices of its node, and may not watch its kernel. Where that is asked for, nearfar puts one
// pod more on each node that has a pod of an arm: a watcher, whose agent is used for that alone. There are two kinds,
// each with what it needs and no more. A run goes on without watchers where they are refused.

// The labels of watchers in place of a side.
const (
	sideWire   = "wire"
	sideKernel = "kernel"
)

// isWatcher says whether a pod is a watcher.
func isWatcher(p *corev1.Pod) bool {
	return p.Labels[LabelSide] == sideWire || p.Labels[LabelSide] == sideKernel
}

// watcherReady is how long watchers may take.
const watcherReady = 45 * time.Second

// A watcherKind is a kind of watchers.
type watcherKind struct {
	side, prefix string
	// security is the container's security context. hostNetwork says that it has the node's network.
	security    string
	hostNetwork bool
	// watches says whether the watchers are for an arm.
	watches func(r Run, u Use) bool
	// why says why there are such pods for these arms, and what they may do.
	why string
}

// watcherKinds are all kinds of watchers.
func watcherKinds() []watcherKind { return []watcherKind{wireWatchers(), kernelWatchers()} }

// asRoot is a security context of root with these capabilities alone. A container's other users have none of them.
func asRoot(capabilities string) string {
	return `{"runAsUser":0,"runAsGroup":0,"runAsNonRoot":false,"allowPrivilegeEscalation":false,` +
		`"capabilities":{"drop":["ALL"],"add":[` + capabilities + `]}}`
}

// wireWatchers are pods that look at packets on the node's devices, for arms that expect an encapsulation.
func wireWatchers() watcherKind {
	return watcherKind{
		side: sideWire, prefix: "w", hostNetwork: true, security: asRoot(`"NET_RAW"`),
		watches: func(r Run, _ Use) bool { return r.Wire },
		why: "an arm expects an encapsulation: on each node with a pod of the arms %s comes a pod with the node's " +
			"network and NET_RAW, which looks at the headers of the trials' packets",
	}
}

// kernelWatchers are pods that watch the node's kernel, for arms that ask for them. They are in no namespace of the
// node: the kernel is one for all, and the programs in it see all namespaces.
func kernelWatchers() watcherKind {
	return watcherKind{
		side: sideKernel, prefix: "k", security: asRoot(`"BPF","PERFMON"`),
		watches: func(r Run, u Use) bool { return r.Inside && u.WatchKernel },
		why: "watchKernel: on each node with a pod of the arms %s comes a pod of root with CAP_BPF and CAP_PERFMON, " +
			"whose programs in the node's kernel watch the trials' packets",
	}
}

// pod plans the pod that watches a node. like is a pod of an arm on that node: its image is there.
func (w watcherKind) pod(s *Set, node string, number int, like *experiment.Pod, arms []string) (*corev1.Pod, error) {
	return s.pod(&pair{name: fmt.Sprint(w.prefix, number), arms: arms}, w.side, w.declared(node, like))
}

func (w watcherKind) declared(node string, like *experiment.Pod) *experiment.Pod {
	return &experiment.Pod{
		Node: node, HostNetwork: w.hostNetwork, Image: like.Image, AgentImage: like.AgentImage,
		ImagePullSecrets: like.ImagePullSecrets,
		// Where the pod of the arm may be, the watcher may be.
		Tolerations: json.RawMessage(`[{"operator":"Exists"}]`),
		// It takes nothing from the pods that are measured.
		Resources:       json.RawMessage(`{}`),
		SecurityContext: json.RawMessage(w.security),
	}
}

// arms are the arms of a set for which there are watchers. Both pods of such an arm run on Linux.
func (w watcherKind) arms(s *Set) (arms []string) {
	for arm, use := range s.Uses {
		if w.watches(s.Run, use) && !IsWindows(use.ClientPod) && !IsWindows(use.ServerPod) {
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

// MakeWireWatchers makes a pod that looks at packets on each node with a pod of an arm that wants it, and waits until
// they are ready. It is called after Make. The result has each such node.
func (d *Deployed) MakeWireWatchers(ctx context.Context) map[string]Watcher {
	return d.makeWatchers(ctx, wireWatchers())
}

// MakeKernelWatchers does so with the pods that watch kernels.
func (d *Deployed) MakeKernelWatchers(ctx context.Context) map[string]Watcher {
	return d.makeWatchers(ctx, kernelWatchers())
}

func (d *Deployed) makeWatchers(ctx context.Context, w watcherKind) map[string]Watcher {
	arms := w.arms(d.Set)
	if len(arms) == 0 {
		return nil
	}
	likes := d.nodesOf(arms)
	ctx, cancel := context.WithTimeoutCause(ctx, watcherReady, errNotReady)
	defer cancel()
	all := map[string]Watcher{}
	var mu sync.Mutex
	var making sync.WaitGroup
	for i, node := range slices.Sorted(maps.Keys(likes)) {
		making.Go(func() {
			made := Watcher{}
			pod, err := w.pod(d.Set, node, i+1, likes[node], arms)
			if err == nil {
				err = d.makeWatcher(ctx, pod, w.declared(node, likes[node]))
			}
			if err == nil {
				made.Pod = pod.Name
			} else {
				made.Problem = fmt.Sprintf("node %s cannot be watched: %s", node, clean.Line(err.Error()))
			}
			mu.Lock()
			defer mu.Unlock()
			all[node] = made
		})
	}
	making.Wait()
	return all
}

// nodesOf are the nodes with pods of arms, and one such pod of each.
func (d *Deployed) nodesOf(arms []string) map[string]*experiment.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	likes := map[string]*experiment.Pod{}
	for _, arm := range arms {
		use := d.Set.Uses[arm]
		for _, name := range []string{use.Client, use.Server} {
			if pod := d.pods[name]; pod != nil && likes[pod.Spec.NodeName] == nil {
				likes[pod.Spec.NodeName] = d.declared[name]
			}
		}
	}
	return likes
}

// makeWatcher makes one watcher and waits until it is ready.
func (d *Deployed) makeWatcher(ctx context.Context, pod *corev1.Pod, declared *experiment.Pod) error {
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
				d.pods[pod.Name], d.declared[pod.Name] = now, declared
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

// watcherTexts say, for a person who reads the plan, what watchers are made.
func (s *Set) watcherTexts() (all []string) {
	for _, w := range watcherKinds() {
		if arms := w.arms(s); len(arms) > 0 {
			all = append(all, fmt.Sprintf(w.why, strings.Join(arms, ", ")))
		}
	}
	return all
}

// printWatchers prints the pods of one node, with a name in place of the node's: which nodes there are is known when
// the pods run.
func (s *Set) printWatchers(to io.Writer) error {
	for _, w := range watcherKinds() {
		arms := w.arms(s)
		if len(arms) == 0 {
			continue
		}
		like := cmp.Or(s.Uses[arms[0]].ClientPod, s.Uses[arms[0]].ServerPod)
		pod, err := w.pod(s, "NODE", 1, like, arms)
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "# On each NODE with a pod above, once they run; the run goes on if this is refused:\n")
		if err := printAll(to, []runtime.Object{pod}); err != nil {
			return err
		}
	}
	return nil
}
