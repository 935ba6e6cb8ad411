package deploy

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/hosts/kube"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// nodeWatchers are the agents of pods that watch nodes, by context and node.
type nodeWatchers struct {
	wires   map[[2]string]wireSide
	kernels map[[2]string]kernelWatcher
}

// kernelWatcher is the agent that watches a node's kernel; nil if there is none, and problem says why.
type kernelWatcher struct {
	agent   *agent.Client
	problem string
}

// close ends all agents.
func (w nodeWatchers) close() {
	var all sync.WaitGroup
	end := func(c *agent.Client) {
		if c != nil {
			all.Go(func() { _ = c.Close() }) // the pod ends with its agent in any case
		}
	}
	for _, one := range w.wires {
		end(one.agent)
	}
	for _, one := range w.kernels {
		end(one.agent)
	}
	all.Wait()
}

// makeWatchers makes the pods that watch the nodes, and connects to their agents. If that fails, the run continues
// without them.
func (k *pods) makeWatchers(ctx context.Context, d *kube.Deployed) {
	both(func() {
		k.reachWatchers(ctx, d, d.MakeWireWatchers(ctx), "the watcher of node ", func(node string, w kube.Watcher,
			c *agent.Client, problem string,
		) {
			side := wireSide{agent: c, problem: problem}
			if w.Pod != "" {
				at := d.NodeAddresses(w.Pod)
				side.outer = valid(at.V4, at.V6)
			}
			if problem != "" {
				k.note(problem + "; encapsulation stays unknown where it is expected")
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.watchers.wires[[2]string{d.Set.Context, node}] = side
		})
	}, func() {
		k.reachWatchers(ctx, d, d.MakeKernelWatchers(ctx), "the kernel's watcher of node ", func(node string,
			_ kube.Watcher, c *agent.Client, problem string,
		) {
			if problem != "" {
				k.note(problem + "; the time inside the path stays unknown there")
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			k.watchers.kernels[[2]string{d.Set.Context, node}] = kernelWatcher{c, problem}
		})
	})
}

// reachWatchers connects to the agents of watchers, at the same time, and hands each over. Without an agent, problem
// says why.
func (k *pods) reachWatchers(ctx context.Context, d *kube.Deployed, made map[string]kube.Watcher, name string,
	reached func(node string, w kube.Watcher, c *agent.Client, problem string),
) {
	var all sync.WaitGroup
	for node, w := range made {
		all.Go(func() {
			if w.Pod == "" {
				reached(node, w, nil, w.Problem)
				return
			}
			c, err := connect(ctx, d, w.Pod, name+node, d.NodeAddresses(w.Pod))
			if err != nil {
				reached(node, w, nil, err.Error())
				return
			}
			reached(node, w, c, "")
		})
	}
	all.Wait()
}

// lookout is where the kernel below a pod of an arm is watched. h is the pod as a host.
func (k *pods) lookout(ctx context.Context, d *kube.Deployed, use kube.Use, pod string, declared *experiment.Pod,
	h host.Host,
) host.Lookout {
	if pod == "" { // a host of the file is watched by its own agent
		return host.Lookout{}
	}
	var at host.Lookout
	if !declared.HostNetwork {
		at.Node = d.Node(pod)
	}
	if !k.run.Inside || !use.WatchKernel {
		return at
	}
	k.mu.Lock()
	w, ok := k.watchers.kernels[[2]string{d.Set.Context, d.Node(pod)}]
	k.mu.Unlock()
	switch {
	case w.agent != nil:
		at.Host = w.agent.Host()
	case ok:
		at.Problem = w.problem
	default:
		at.Problem = "no pod watches the kernel of node " + d.Node(pod)
	}
	var err error
	if at.Space, err = networkSpace(ctx, h); err != nil {
		at.Host, at.Problem = nil, fmt.Sprintf("the network namespace of pod %s is not known: %v", pod, err)
	}
	return at
}

// networkSpace asks a host for the number of its network namespace.
func networkSpace(ctx context.Context, h host.Host) (uint32, error) {
	var out, errs bytes.Buffer
	p, err := h.Start(ctx, host.Cmd{Argv: []string{host.Self, inside.SpaceVerb}, Stdout: &out, Stderr: &errs})
	if err != nil {
		return 0, err
	}
	if err := p.Wait(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()))
	}
	space, err := strconv.ParseUint(strings.TrimSpace(out.String()), 10, 32)
	if err != nil || space == 0 {
		return 0, fmt.Errorf("%.40q is no number of a namespace", out.String())
	}
	return uint32(space), nil
}
