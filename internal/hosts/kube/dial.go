package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
)

// Connect connects to the agent in a pod. The first connection copies the agent into the pod if no image brought it.
func (d *Deployed) Connect(ctx context.Context, pod string, o agent.Options, agents Agents) (*agent.Client, error) {
	before := d.pod(pod)
	if before == nil {
		return nil, fmt.Errorf("there is no pod %s", pod)
	}
	at := place{before.Namespace, before.Name, ContainerName}
	if copies(d.declaration(pod)) && !d.has(pod) {
		if err := d.cluster.install(ctx, at, agents); err != nil {
			return nil, fmt.Errorf("%s: the agent cannot be copied into pod %s: %w", o.Name, pod, err)
		}
		d.mu.Lock()
		d.installed[pod] = true
		d.mu.Unlock()
	}
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	dialer := &dialer{
		cluster: d.cluster, at: at, before: before, agent: o, folder: Folder + "/agent-" + hex.EncodeToString(id),
	}
	connect := func() (*agent.Client, error) { return agent.Connect(ctx, dialer.dial, o) }
	if installsItself(d.declaration(pod)) {
		return onceInstalled(ctx, installsLimit, connect)
	}
	return connect()
}

// installsLimit bounds how long an agent may take to copy itself out of its image, when its container runs.
const installsLimit = 15 * time.Second

// onceInstalled connects to a container whose program copies the agent onto the volume when it starts. The container
// runs before the copy is there, and until then the exec stream ends with ENOENT.
func onceInstalled(ctx context.Context, limit time.Duration, connect func() (*agent.Client, error),
) (*agent.Client, error) {
	for end := time.Now().Add(limit); ; {
		client, err := connect()
		if err == nil || !strings.Contains(err.Error(), "no such file or directory") || time.Now().After(end) {
			return client, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// declaration is the declaration of a pod.
func (d *Deployed) declaration(pod string) *experiment.Pod {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.declared[pod]
}

// has says that the agent was copied into a pod.
func (d *Deployed) has(pod string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.installed[pod]
}

// A dialer makes the connections to the agent of one pod.
type dialer struct {
	cluster *Cluster
	at      place
	// before is the pod when the agent was started.
	before *corev1.Pod
	agent  agent.Options
	// folder is the agent's own, on the pod's volume.
	folder string
}

// dial opens an exec stream to the agent. The program behind it connects the stream with the agent's socket, and starts
// the agent the first time. A later connection first asks whether the pod is still the same: an exec request to another
// pod of the same name would meet another agent, and one to a pod that is gone would be repeated in vain.
func (d *dialer) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if agent.Again(ctx) {
		if err := d.same(ctx); err != nil {
			return nil, err
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, cmp.Or(d.cluster.limits.dial, dialLimit), errSilent)
	defer cancel()
	s := d.cluster.open(d.at, []string{program, "--stdio", "--folder", d.folder})
	stop := context.AfterFunc(limited, func() { _ = s.Close() })
	// This returns when the stream is connected, or when it has failed.
	_, err := d.agent.Introduction(ctx).WriteTo(s)
	if !stop() {
		err = context.Cause(limited)
	}
	if err != nil {
		_ = s.Close()
		if errors.Is(err, errSilent) {
			err = fmt.Errorf("pod %s: %w", d.at.pod, err)
		}
		return nil, err
	}
	return s, nil
}

// errSilent is the cause of an exec stream that took too long.
var errSilent = errors.New("exec does not answer: the API server or the node's kubelet passes nothing on")

// same checks that the pod and its container are those in which the agent was started. If they are not, the error wraps
// agent.ErrGone.
func (d *dialer) same(ctx context.Context) error {
	why, err := d.cluster.compare(ctx, d.before)
	if err != nil {
		return err
	}
	if why != "" {
		return fmt.Errorf("%w: %s", agent.ErrGone, why)
	}
	return nil
}

// compare says why a pod is not the same as before; empty if it is. The error says that the API server did not answer
// that.
func (c *Cluster) compare(ctx context.Context, before *corev1.Pod) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	now, err := c.client.CoreV1().Pods(before.Namespace).Get(ctx, before.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return gone(before, nil), nil
	case err != nil:
		return "", fmt.Errorf("the state of pod %s is not known: %w", before.Name, shortened(err))
	}
	return gone(before, now), nil
}
