package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/kube"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// pods makes the arms that have pods. An arm with one pod takes its other host from the hosts of the file.
type pods struct {
	options    Options
	experiment *experiment.Experiment
	named      *given // nil if no arm has a host of the file
	run        kube.Run

	mu       sync.Mutex
	clusters map[string]*kube.Cluster // by context
	deployed []*kube.Deployed
	// fleet are the agents in the pods. Their names are those of the first arm that uses the pod: "near/client".
	fleet
	// sides are the names of the hosts of each arm.
	sides map[string]Sides
	// facts are where the pods are, by the names of the fleet.
	facts map[string]kube.PodFacts
	arms  map[string]PodArm
	// watchers are the agents that watch the nodes; those that could not be made have a problem.
	watchers nodeWatchers
}

func newPods(e *experiment.Experiment, o Options, named *given) *pods {
	k := &pods{
		options: o, experiment: e, named: named, clusters: map[string]*kube.Cluster{}, fleet: newFleet(),
		sides: map[string]Sides{}, facts: map[string]kube.PodFacts{}, arms: map[string]PodArm{}, run: newRun(e),
	}
	k.pods = true
	k.watchers = nodeWatchers{wires: map[[2]string]wireSide{}, kernels: map[[2]string]kernelWatcher{}}
	return k
}

// build makes the pods of all arms at the same time, and connects to their agents.
func (k *pods) build(ctx context.Context, arms []experiment.Arm) (map[string]host.Hosts, error) {
	arms, err := resolved(arms, k.options.Kubeconfig)
	if err != nil {
		return nil, err
	}
	sets, err := kube.Plan(k.run, arms)
	if err != nil {
		return nil, err
	}
	for _, s := range sets {
		if k.clusters[s.Context] == nil {
			if k.clusters[s.Context], err = kube.Open(k.options.Kubeconfig, s.Context); err != nil {
				return nil, err
			}
		}
		k.deployed = append(k.deployed, k.clusters[s.Context].New(s, k.note))
	}
	if err := agentsThere(arms, binaries.For); err != nil {
		return nil, err
	}
	pods := 0
	for _, s := range sets {
		pods += s.Pods()
	}
	k.options.Step("making %d pods", pods)
	errs := inParallel(k.deployed, func(_ int, d *kube.Deployed) error { return k.makeSet(ctx, d) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if k.named != nil {
		select {
		case <-k.named.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if k.named.failed {
			return nil, context.Canceled // given.build says why
		}
	}
	made := map[string]host.Hosts{}
	var mu sync.Mutex
	errs = inParallel(arms, func(_ int, arm experiment.Arm) error {
		hosts, err := k.hostsOf(ctx, arm)
		hosts.Machines = withWire(hosts.Machines, k.wireOf(arm, hosts))
		mu.Lock()
		defer mu.Unlock()
		made[arm.Name] = hosts
		return err
	})
	return made, errors.Join(errs...)
}

// agentsThere says, before pods are made, that this program has no agent for a pod whose image does not bring one. The
// architecture of a pod's node is not known yet, so it is enough that there is an agent for one.
func agentsThere(arms []experiment.Arm, agentFor func(host.System) (binaries.Agent, error)) error {
	for _, arm := range arms {
		for _, pod := range []*experiment.Pod{arm.Kubernetes.Client, arm.Kubernetes.Server} {
			if pod == nil || pod.AgentImage != "" || pod.OS == experiment.PodWindows {
				continue
			}
			_, amd := agentFor(host.System{OS: "linux", Arch: "amd64"})
			_, arm64 := agentFor(host.System{OS: "linux", Arch: "arm64"})
			if amd != nil && arm64 != nil {
				return fmt.Errorf("arm %s: %w; or name an image that has the agent (agentImage)", arm.Name, amd)
			}
		}
	}
	return nil
}

func (k *pods) note(text string) { k.options.Step("%s", text) }

// makeSet makes the objects of a set and connects to the agents in its pods.
func (k *pods) makeSet(ctx context.Context, d *kube.Deployed) error {
	d.RemoveLeftovers(ctx)
	if err := d.Make(ctx); err != nil {
		return err
	}
	d.Follow()
	names := k.podNames(d.Set)
	var all sync.WaitGroup
	var facts map[string]kube.PodFacts
	all.Go(func() { facts = d.Facts(ctx) })
	all.Go(func() { k.makeWatchers(ctx, d) })
	errs := inParallel(slices.Sorted(maps.Keys(names)), func(_ int, pod string) error {
		at, err := d.Addresses(pod, nil)
		if err != nil {
			return err
		}
		c, err := connect(ctx, d, pod, names[pod], at)
		if err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.clients[names[pod]], k.hosts[names[pod]] = c, c.Host()
		return nil
	})
	all.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	for pod, f := range facts {
		name := names[pod]
		if c := k.clients[name]; c != nil {
			f.CPUManager = d.CPUManagerOf(pod, len(c.Known().Allowed), len(c.Known().CPUs))
		}
		k.facts[name] = f
		if len(f.Sidecars) > 0 {
			k.note(sidecarText(name, f))
		}
	}
	return errors.Join(errs...)
}

// podNames gives the pods of a set their names as hosts: those of the first arm that uses the pod.
func (k *pods) podNames(s *kube.Set) map[string]string {
	names := map[string]string{}
	for _, arm := range k.experiment.Arms {
		use, ok := s.Uses[arm.Name]
		if !ok {
			continue
		}
		for side, pod := range map[string]string{kube.Client: use.Client, kube.Server: use.Server} {
			if pod != "" && names[pod] == "" {
				names[pod] = arm.Name + "/" + side
			}
		}
	}
	return names
}

// connect connects to the agent in a pod. name is the host's.
func connect(ctx context.Context, d *kube.Deployed, pod, name string, at host.Addresses) (*agent.Client, error) {
	return d.Connect(ctx, pod, agent.Options{
		Name: name, Session: agent.NewSession(), Endpoint: host.Endpoint{Name: name, Dial: at},
	}, agentFor)
}

// agentFor is the agent for the system of a pod.
func agentFor(s host.System) (kube.Program, error) {
	a, err := binaries.For(s)
	if err != nil {
		return kube.Program{}, err
	}
	return kube.Program{SHA256: a.Hash, Size: int64(len(a.Content)), Gzip: a.Packed}, nil
}

// setOf is the set of pods that was made for an arm, and how the arm uses it.
func (k *pods) setOf(arm string) (*kube.Deployed, kube.Use) {
	for _, d := range k.deployed {
		if use, ok := d.Set.Uses[arm]; ok {
			return d, use
		}
	}
	return nil, kube.Use{}
}

// armHost is a pod as one arm uses it. Arms share pods, but can dial other addresses and ports.
type armHost struct {
	host.Host
	endpoint host.Endpoint
}

// Endpoint is the pod as the arm sees it.
func (h *armHost) Endpoint() host.Endpoint { return h.endpoint }

// hostsOf makes the hosts of an arm from its pods.
func (k *pods) hostsOf(ctx context.Context, arm experiment.Arm) (host.Hosts, error) {
	d, use := k.setOf(arm.Name)
	names := k.podNames(d.Set)
	fail := func(err error) (host.Hosts, error) { return host.Hosts{}, fmt.Errorf("arm %s: %w", arm.Name, err) }
	var hosts [2]host.Host
	var clients [2]*agent.Client
	var sides [2]string
	for i, side := range []struct {
		named, pod, label string
		declared          *experiment.Pod
	}{
		{arm.Client, use.Client, kube.Client, use.ClientPod}, {arm.Server, use.Server, kube.Server, use.ServerPod},
	} {
		if side.pod == "" {
			hosts[i], clients[i], sides[i] = k.named.hosts[side.named], k.named.clients[side.named], side.named
			continue
		}
		sides[i] = names[side.pod]
		k.mu.Lock()
		h, c := k.hosts[sides[i]], k.clients[sides[i]]
		k.mu.Unlock()
		e := h.Endpoint()
		e.Name, e.Port, e.Tools = arm.Name+"/"+side.label, side.declared.Port, side.declared.Tools
		if side.declared.Interface != "" {
			own, err := d.Addresses(side.pod, side.declared)
			if err != nil {
				return fail(err)
			}
			e.Dial, e.Bind = own, own
		}
		hosts[i], clients[i] = &armHost{h, e}, c
	}
	if server, ok := hosts[1].(*armHost); ok && use.Through != experiment.ThroughPod {
		at, err := d.Through(ctx, use, resolver(hosts[0]))
		if err != nil {
			return fail(err)
		}
		server.endpoint.Dial = at
		if use.Port != 0 {
			server.endpoint.Port = use.Port
		}
	}
	lookouts := [2]host.Lookout{
		k.lookout(ctx, d, use, use.Client, use.ClientPod, hosts[0]),
		k.lookout(ctx, d, use, use.Server, use.ServerPod, hosts[1]),
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sides[arm.Name] = Sides{sides[0], sides[1]}
	e := hosts[1].Endpoint()
	k.arms[arm.Name] = PodArm{
		Through: use.Through, Service: use.Service, Address: e.Dial.V4, Address6: e.Dial.V6, Port: e.Ports().Data,
	}
	return host.Hosts{
		Client: hosts[0], Server: hosts[1],
		Machines: &podMachines{
			machines: newMachines(clients[0], clients[1], endsOf(k.experiment, hosts[0], hosts[1])), deployed: d,
			pods: [2]string{use.Client, use.Server}, lookouts: lookouts,
		},
	}, nil
}

// resolver resolves names on a host.
func resolver(h host.Host) kube.Resolver {
	return func(ctx context.Context, name string) ([]string, error) {
		var out, errors bytes.Buffer
		p, err := h.Start(ctx, host.Cmd{Argv: []string{host.Self, "resolve", name}, Stdout: &out, Stderr: &errors})
		if err != nil {
			return nil, err
		}
		if err := p.Wait(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errors.String()))
		}
		return kube.ParseResolved(out.String()), nil
	}
}

// settle is how long a Service may take until its ports lead to the pod, after the pod is ready.
const (
	settle      = 15 * time.Second
	settlePause = 200 * time.Millisecond
)

// preflight checks the pods as the hosts of the file are checked.
func (k *pods) preflight(ctx context.Context, e *experiment.Experiment, traffic []host.Traffic) []string {
	k.options.Step("checking the pods: ports, disks, clocks")
	problems := k.checkMachines(ctx, k.options.Step)
	all := newFleet()
	all.pods = true
	maps.Copy(all.clients, k.clients)
	maps.Copy(all.hosts, k.hosts)
	if k.named != nil {
		maps.Copy(all.clients, k.named.clients)
		maps.Copy(all.hosts, k.named.hosts)
	}
	for begun := time.Now(); ; {
		found := all.checkPorts(ctx, k.sides, traffic)
		if len(found) == 0 || !k.services() || time.Since(begun) > settle || ctx.Err() != nil {
			k.limits = all.limits
			all.sayUnlimited(k.options.Step)
			return append(problems, found...)
		}
		// The rules of a Service follow its pods within a second or two.
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
		}
	}
}

// services says that an arm goes through a Service.
func (k *pods) services() bool {
	for _, arm := range k.arms {
		if arm.Service != "" {
			return true
		}
	}
	return false
}

// close ends the agents and deletes all that was made.
func (k *pods) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range k.clients {
		all.Go(func() { _ = c.Close() }) // the pod ends with its agent in any case
	}
	all.Go(k.watchers.close)
	all.Wait()
	return errors.Join(inParallel(k.deployed, func(_ int, d *kube.Deployed) error { return d.Remove() })...)
}
