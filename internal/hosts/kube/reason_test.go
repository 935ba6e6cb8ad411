package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReasons: what a pod that is not ready waits for, in words.
func TestReasons(t *testing.T) {
	waits := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: ContainerName, Image: "r.example/tools:1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
	ends := func(t corev1.ContainerStateTerminated) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
			Name: ContainerName, State: corev1.ContainerState{Terminated: &t},
		}}}
	}
	unscheduled := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message,
		}}}
	}
	now := metav1.NewTime(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	event := func(reason, message string, at metav1.Time) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{UID: "u"}, Type: corev1.EventTypeWarning, Reason: reason,
			Message: message, LastTimestamp: at,
		}
	}
	for _, c := range []struct {
		name     string
		status   corev1.PodStatus
		deleted  bool
		events   []corev1.Event
		hopeless bool
		why      string
	}{
		{name: "cpu", status: unscheduled("0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are " +
			"available: 2 No preemption victims found for incoming pod."),
			why: "no node fits: 0/2 nodes are available: 2 Insufficient cpu (set resources:, or free some)"},
		{name: "taint", status: unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}."),
			why: "no node fits: 0/1 nodes are available: 1 node(s) had untolerated taint {a: b} (add tolerations: " +
				"for the taint)"},
		{name: "anti-affinity",
			status: unscheduled("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."),
			why: "no node fits: 0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules (the pods of " +
				"an arm need different nodes (nodes: different), or different zones)"},
		{name: "name", status: unscheduled("0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) " +
			"[NodeAffinity]. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not " +
			"helpful for scheduling."),
			why: "no node fits: 0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity] (check " +
				"node:, nodeSelector:, zone: and the system (kubernetes.io/os) of the nodes)"},
		{name: "selector",
			status: unscheduled("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."),
			why: "no node fits: 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector (check " +
				"node:, nodeSelector:, zone: and the system (kubernetes.io/os) of the nodes)"},
		{name: "no image", status: waits("ErrImagePull", `failed to resolve reference "r.example/tools:1": not found`),
			hopeless: true, why: `the image r.example/tools:1 cannot be pulled: failed to resolve reference ` +
				`"r.example/tools:1": not found`},
		{name: "registry is down", status: waits("ImagePullBackOff", "Back-off pulling image: i/o timeout"),
			why: "the image r.example/tools:1 cannot be pulled: Back-off pulling image: i/o timeout"},
		{name: "never pulled", status: waits("ErrImageNeverPull", ""), hopeless: true,
			why: "the image r.example/tools:1 is not on the node"},
		{name: "root image", status: waits("CreateContainerConfigError",
			"container has runAsNonRoot and image will run as root"),
			hopeless: true,
			why:      "its container nearfar cannot be started: container has runAsNonRoot and image will run as root"},
		{name: "no shell", status: ends(corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError",
			Message: `exec: "sh": executable file not found in $PATH`}), hopeless: true,
			why: noShellText + `: exec: "sh": executable file not found in $PATH`},
		{name: "memory", status: ends(corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}),
			hopeless: true,
			why: "its container nearfar was killed because it used more memory than its limit (OOMKilled): give it " +
				"more with resources:"},
		{name: "crash", status: ends(corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"}), hopeless: true,
			why: "its container nearfar ended with exit status 3; its last lines: one / two"},
		{name: "evicted", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted",
			Message: "The node was low on resource: memory."}, hopeless: true,
			why: "it was evicted: The node was low on resource: memory."},
		{name: "deadline", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded"},
			hopeless: true, why: "its time is over (activeDeadlineSeconds): the run took longer than nearfar expected"},
		{name: "deleted", deleted: true, hopeless: true, why: "it is being deleted"},
		{name: "CNI", status: corev1.PodStatus{Phase: corev1.PodPending}, events: []corev1.Event{
			event("FailedMount", "older", metav1.NewTime(now.Add(-time.Minute))),
			event("FailedCreatePodSandBox", "plugin type=\"bridge\" failed (add): no address left", now),
		}, why: "node n1 cannot set up its network or sandbox (CNI, runtime): plugin type=\"bridge\" failed (add): " +
			"no address left"},
		{name: "nothing known", status: corev1.PodStatus{Phase: corev1.PodPending},
			why: "node n1 has not started it yet"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}, Status: c.status}
			pod.Spec.NodeName = "n1"
			if c.deleted {
				pod.DeletionTimestamp = &now
			}
			got := stateOf(pod, c.events, func(string) string { return "one\ntwo\n" })
			if got != (state{hopeless: c.hopeless, why: c.why}) {
				t.Errorf("got  %+v\nwant %q, hopeless %v", got, c.why, c.hopeless)
			}
		})
	}
	ready := &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}}}
	if got := stateOf(ready, nil, nil); !got.ready {
		t.Errorf("a ready pod: %+v", got)
	}
}

// TestGone: why a pod is not the one in which the agent was started.
func TestGone(t *testing.T) {
	before := func() *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}}
		p.Spec.NodeName = "n1"
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: ContainerName, ContainerID: "containerd://1"}}
		return p
	}
	now := metav1.Now()
	for _, c := range []struct {
		change func(p *corev1.Pod)
		want   string
	}{
		{func(*corev1.Pod) {}, ""},
		{func(p *corev1.Pod) { p.UID = "other" }, "pod p was deleted, and another one has its name"},
		{func(p *corev1.Pod) { p.DeletionTimestamp = &now }, "pod p is being deleted"},
		{func(p *corev1.Pod) { p.Spec.NodeName = "n2" }, "pod p moved from node n1 to n2"},
		{func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ContainerID = "containerd://2" },
			"the container of pod p was restarted"},
		{func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 },
			"the container of pod p was restarted"},
		{func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "disk is full"
		}, "pod p: it was evicted: disk is full"},
	} {
		p := before()
		c.change(p)
		if got := gone(before(), p); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if got := gone(before(), nil); got != "pod p was deleted" {
		t.Errorf("got %q", got)
	}
}
