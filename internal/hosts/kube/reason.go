package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nearfar/internal/base/clean"
)

// A state is how far a pod is.
type state struct {
	ready bool
	// hopeless says that the pod will not become ready.
	hopeless bool
	// why says what a pod that is not ready waits for, or why it ended.
	why string
}

// maxReason bounds a text of the cluster in a message, in bytes.
const maxReason = 600

func said(text string) string { return clean.Cut(strings.TrimSpace(text), maxReason) }

// stateOf says how far a pod is. events are those of the pod; logs gives the last lines of a container that ended.
func stateOf(pod *corev1.Pod, events []corev1.Event, logs func(container string) string) state {
	if pod.DeletionTimestamp != nil {
		return state{hopeless: true, why: "it is being deleted"}
	}
	if s, ok := ended(pod, logs); ok {
		return s
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.Status.PodIP != "":
			return state{ready: true}
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			return state{why: unschedulable(c.Message)}
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if s, ok := waiting(c, logs); ok {
			return s
		}
	}
	return state{why: lastEvent(pod, events)}
}

// ended says why a pod ended; false if it did not.
func ended(pod *corev1.Pod, logs func(string) string) (state, bool) {
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return state{}, false
	}
	s := state{hopeless: true, why: "it ended"}
	switch pod.Status.Reason {
	case "":
	case "Evicted":
		s.why = "it was evicted: " + said(pod.Status.Message)
		return s, true
	case "DeadlineExceeded":
		s.why = "its time is over (activeDeadlineSeconds): the run took longer than nearfar expected"
		return s, true
	case "NodeLost", "Terminated", "Shutdown", "NodeShutdown":
		s.why = "its node went away: " + said(cmp.Or(pod.Status.Message, pod.Status.Reason))
		return s, true
	default:
		s.why = said(pod.Status.Reason + ": " + pod.Status.Message)
		return s, true
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && (t.ExitCode != 0 || pod.Status.Phase == corev1.PodSucceeded) {
			s.why = terminated(c.Name, t, logs)
			return s, true
		}
	}
	return s, true
}

// terminated says how a container ended.
func terminated(name string, t *corev1.ContainerStateTerminated, logs func(string) string) string {
	text := fmt.Sprintf("its container %s ended with exit status %d", name, t.ExitCode)
	switch {
	case t.Reason == "OOMKilled":
		return fmt.Sprintf("its container %s was killed because it used more memory than its limit (OOMKilled): give "+
			"it more with resources:", name)
	case noShell(t.Message):
		return noShellText + ": " + said(t.Message)
	case t.Message != "":
		text += ": " + said(t.Message)
	}
	if lines := said(logs(name)); lines != "" {
		text += "; its last lines: " + strings.ReplaceAll(lines, "\n", " / ")
	}
	return text
}

const noShellText = "the image has no shell, which nearfar needs to copy the agent into it: name an agentImage, " +
	"which brings the agent without a shell"

// noShell says that a container could not be started because `sh` is missing.
func noShell(message string) bool {
	return strings.Contains(message, `"sh": executable file not found`) ||
		strings.Contains(message, `exec: "sh"`) || strings.Contains(message, "exec sh: no such file")
}

// waiting says why a container does not run; false if it does, or will soon.
func waiting(c corev1.ContainerStatus, logs func(string) string) (state, bool) {
	if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
		return state{hopeless: true, why: terminated(c.Name, t, logs)}, true
	}
	w := c.State.Waiting
	if w == nil {
		return state{}, false
	}
	image := clean.Line(c.Image)
	switch w.Reason {
	case "", "PodInitializing", "ContainerCreating":
		return state{}, false
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable":
		text := fmt.Sprintf("the image %s cannot be pulled: %s", image, said(w.Message))
		return state{hopeless: noImage(w.Message), why: text}, true
	case "ErrImageNeverPull":
		return state{hopeless: true, why: fmt.Sprintf("the image %s is not on the node", image)}, true
	case "InvalidImageName":
		return state{hopeless: true, why: fmt.Sprintf("%q is not the name of an image", c.Image)}, true
	case "CrashLoopBackOff":
		if t := c.LastTerminationState.Terminated; t != nil {
			return state{hopeless: true, why: terminated(c.Name, t, logs)}, true
		}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		text := fmt.Sprintf("its container %s cannot be started: %s", c.Name, said(w.Message))
		if noShell(w.Message) {
			text = noShellText + ": " + said(w.Message)
		}
		return state{hopeless: true, why: text}, true
	}
	return state{why: said(w.Reason + ": " + w.Message)}, true
}

// noImage says that a registry answered and has no such image, or refuses it: another attempt gives the same answer.
func noImage(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{"not found", "manifest unknown", "unauthorized", "denied",
		"authentication required", "no such image", "no match for platform"},
		func(words string) bool { return strings.Contains(message, words) })
}

// unschedulable turns the scheduler's message into words: which constraints exclude how many nodes. The message has the
// form "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}. preemption: ...".
func unschedulable(message string) string {
	if message == "" {
		return "the scheduler has not looked at it yet"
	}
	// What follows is about preemption and devices.
	for _, rest := range []string{" preemption:", " no new claims to deallocate"} {
		message, _, _ = strings.Cut(message, rest)
	}
	text := "no node fits: " + said(strings.TrimRight(message, " .,"))
	for _, hint := range []struct{ contains, advice string }{
		{"Insufficient cpu", "set resources:, or free some"},
		{"Insufficient memory", "set resources:, or free some memory"},
		{"untolerated taint", "add tolerations: for the taint"},
		{"anti-affinity", "the pods of an arm need different nodes (nodes: different), or different zones"},
		{"didn't match pod affinity", "pods of arms with the same placement are put on the same nodes"},
		{"NodeAffinity", "check node:, nodeSelector:, zone: and the system (kubernetes.io/os) of the nodes"},
		{"node affinity/selector", "check node:, nodeSelector:, zone: and the system (kubernetes.io/os) of the nodes"},
		{"free ports", "another pod uses the port on the node"},
	} {
		if strings.Contains(message, hint.contains) {
			text += " (" + hint.advice + ")"
			break
		}
	}
	return text
}

// lastEvent says what the newest warning about a pod without other reasons says.
func lastEvent(pod *corev1.Pod, events []corev1.Event) string {
	var newest *corev1.Event
	for i, e := range events {
		if e.InvolvedObject.UID == pod.UID && e.Type == corev1.EventTypeWarning &&
			(newest == nil || !eventTime(e).Before(eventTime(*newest))) {
			newest = &events[i]
		}
	}
	if newest == nil {
		switch name := pod.Spec.SchedulerName; {
		case pod.Spec.NodeName != "":
		case name != "" && name != corev1.DefaultSchedulerName:
			return fmt.Sprintf("the scheduler %s has not looked at it yet: does the cluster have it? (schedulerName)",
				clean.Line(name))
		default:
			return "the scheduler has not looked at it yet"
		}
		return "node " + pod.Spec.NodeName + " has not started it yet"
	}
	switch newest.Reason {
	case "FailedCreatePodSandBox":
		return fmt.Sprintf("node %s cannot set up its network or sandbox (CNI, runtime): %s", pod.Spec.NodeName,
			said(newest.Message))
	case "FailedMount", "FailedAttachVolume":
		return "a volume cannot be mounted: " + said(newest.Message)
	}
	return said(newest.Reason + ": " + newest.Message)
}

// eventTime is when an event was seen last.
func eventTime(e corev1.Event) time.Time {
	if e.LastTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

// gone says why the pod in which an agent ran is not the same any more; "" if it is.
func gone(before, now *corev1.Pod) string {
	name := clean.Line(before.Name)
	switch {
	case now == nil:
		return "pod " + name + " was deleted"
	case now.UID != before.UID:
		return "pod " + name + " was deleted, and another one has its name"
	case now.DeletionTimestamp != nil:
		return "pod " + name + " is being deleted"
	case now.Spec.NodeName != before.Spec.NodeName:
		return fmt.Sprintf("pod %s moved from node %s to %s", name, before.Spec.NodeName, now.Spec.NodeName)
	}
	if s, ok := ended(now, func(string) string { return "" }); ok {
		return "pod " + name + ": " + s.why
	}
	then, is := container(before), container(now)
	switch {
	case then == nil || is == nil:
		return ""
	case is.ContainerID != then.ContainerID || is.RestartCount != then.RestartCount:
		return fmt.Sprintf("the container of pod %s was restarted", name)
	case is.State.Terminated != nil:
		return "pod " + name + ": " + terminated(is.Name, is.State.Terminated, func(string) string { return "" })
	}
	return ""
}

// container is the status of the container with the agent; nil if it is not known.
func container(pod *corev1.Pod) *corev1.ContainerStatus {
	for i, c := range pod.Status.ContainerStatuses {
		if c.Name == ContainerName {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
