package deploy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/local"
	"nearfar/internal/hosts/ssh"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/agent/tls"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// given reaches the machines that the file names as hosts. Each machine has one agent for all arms.
type given struct {
	options    Options
	experiment *experiment.Experiment
	specs      map[string]experiment.HostSpec
	owner      *tls.Owner // nil without a host that is reached by a join string
	// expires says until when the join strings of hosts are good, by the hosts' names.
	expires map[string]time.Time
	// programs are what ssh copies to hosts.
	programs programs
	// done is closed when build has ended: pods can have an arm with a host of the file. failed is valid then.
	done   chan struct{}
	failed bool
	// wire says that the underlay devices are watched.
	wire bool

	mu sync.Mutex
	fleet
}

// fleet is hosts with agents, by their names.
type fleet struct {
	clients map[string]*agent.Client
	hosts   map[string]host.Host // one for each client: the runner tells hosts apart by their identity
	// pods says that the hosts are pods, for advice.
	pods bool

	// loads and clocks were read before the run, clocksAfter are the clocks at the last reading.
	loads               map[string]*machine.Load
	clocks, clocksAfter map[string]agent.Clock

	// limits are the addresses from which the servers of an arm see its client, nil if they may change; unlimited says
	// where they may.
	peersMu   sync.Mutex
	limits    map[string][]netip.Prefix
	unlimited []string
}

func newFleet() fleet {
	return fleet{
		clients: map[string]*agent.Client{}, hosts: map[string]host.Host{}, limits: map[string][]netip.Prefix{},
	}
}

func newGiven(e *experiment.Experiment, o Options) *given {
	k := &given{
		options: o, experiment: e, specs: map[string]experiment.HostSpec{}, fleet: newFleet(),
		expires: map[string]time.Time{}, done: make(chan struct{}), programs: programs{made: map[host.System]ssh.Program{}},
		wire: watchesWire(e),
	}
	for _, h := range e.Hosts {
		k.specs[h.Name] = h
	}
	return k
}

// build connects to all hosts at the same time. The error has the reason of every host that cannot be reached. Arms
// with one host of the file get their hosts from pods.build.
func (k *given) build(ctx context.Context, arms []experiment.Arm) (made map[string]host.Hosts, err error) {
	defer func() {
		k.failed = err != nil
		close(k.done)
	}()
	var names []string
	for _, arm := range arms {
		names = append(names, arm.Client, arm.Server)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	if err := hostsWithoutAgent(k.specs, names, binaries.LinuxMissing()); err != nil {
		return nil, err
	}
	dialers, err := k.dialers(ctx, names)
	if err != nil {
		return nil, err
	}
	errs := inParallel(names, func(_ int, name string) error {
		defer waiting(k.options.Step, "host %s to be reached", name)()
		c, err := k.reach(ctx, k.specs[name], dialers[name])
		if err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.clients[name] = c
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := k.measuresAt(ctx, arms); err != nil {
		return nil, err
	}
	for name, c := range k.clients {
		k.hosts[name] = c.Host()
	}
	made = map[string]host.Hosts{}
	defer func() { k.watchWires(made, arms) }()
	for _, arm := range arms {
		if arm.Client == "" || arm.Server == "" {
			continue
		}
		made[arm.Name] = host.Hosts{
			Client: k.hosts[arm.Client], Server: k.hosts[arm.Server],
			Machines: newMachines(k.clients[arm.Client], k.clients[arm.Server],
				endsOf(k.experiment, k.hosts[arm.Client], k.hosts[arm.Server])),
		}
	}
	return made, nil
}

// hostsWithoutAgent says, before hosts are reached, that this program has no agent to copy to them. missing is why it
// has none; nil if it has one.
func hostsWithoutAgent(specs map[string]experiment.HostSpec, names []string, missing error) error {
	if missing == nil {
		return nil
	}
	var without []string
	for _, name := range names {
		if spec := specs[name]; spec.Kind() == experiment.HostSSH && spec.Command == "" {
			without = append(without, name)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return fmt.Errorf("nearfar copies its agent to %s: %w", strings.Join(without, ", "), missing)
}

// dialers are the ways to the hosts that have join strings, by name. nearfar begins to listen for agents that dial it.
func (k *given) dialers(ctx context.Context, names []string) (map[string]dialer, error) {
	dialers := map[string]dialer{}
	for _, name := range names {
		spec := k.specs[name]
		if spec.Kind() != experiment.HostAgent {
			continue
		}
		join, err := tls.ParseJoin(spec.Agent)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
		if k.owner == nil {
			if k.owner, err = tls.NewOwner(context.WithoutCancel(ctx)); err != nil {
				return nil, err
			}
		}
		dial, err := k.owner.Dialer(join)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", name, err)
		}
		dialers[name] = dialer{dial, join.Session()}
		k.expires[name] = join.Expires
	}
	return dialers, nil
}

// dialer is the way to an agent with a join string, and the session of the agent.
type dialer struct {
	dial    agent.Dialer
	session string
}

// reach connects to one host.
func (k *given) reach(ctx context.Context, spec experiment.HostSpec, d dialer) (*agent.Client, error) {
	o := agent.Options{
		Name: spec.Name, Session: d.session, Silence: spec.Silence, Endpoint: Endpoint(spec),
		Note: func(text string) { k.options.Step("%s", text) },
	}
	if o.Session == "" {
		o.Session = agent.NewSession()
	}
	switch spec.Kind() {
	case experiment.HostProvisioned:
		return nil, fmt.Errorf("host %s: its machine is not made: make it with nearfar up", spec.Name)
	case experiment.HostLocal:
		return local.Open(ctx, o, spec.Folder)
	case experiment.HostSSH:
		return ssh.Connect(ctx, ssh.Options{
			Agent: o, Name: spec.SSH, Config: k.options.SSHConfig, Folder: spec.Folder, Sudo: spec.Sudo,
			Command: spec.Command,
			Agents:  k.programs.of, Terminal: k.options.Terminal,
			Note: func(text string) { k.options.Step("%s", text) },
		})
	default:
		o.Releases = true
		return agent.Connect(ctx, d.dial, o)
	}
}

// programs are the agents for the hosts' systems, as ssh copies them. Each is unpacked once.
type programs struct {
	mu   sync.Mutex
	made map[host.System]ssh.Program
}

func (p *programs) of(s host.System) (ssh.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if made, ok := p.made[s]; ok {
		return made, nil
	}
	a, err := binaries.For(s)
	if err != nil {
		return ssh.Program{}, err
	}
	made := ssh.Program{SHA256: a.Hash, Size: int64(len(a.Content)), Gzip: a.Packed}
	p.made[s] = made
	return made, nil
}

// record adds the facts of each machine.
func (k *given) record(ctx context.Context, e *experiment.Experiment, r *Record) {
	k.addTo(ctx, r)
	for _, arm := range e.Arms {
		if arm.Lab == nil && arm.Kubernetes == nil {
			r.Sides[arm.Name] = Sides{arm.Client, arm.Server}
		}
	}
}

// use says that the agents are used from now on.
func (k *given) use() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.clients {
		c.Use()
	}
}

// close ends all agents, with everything that they started and put. Agents of join strings that were not
// used stay, without anything that they started.
func (k *given) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := slices.Sorted(maps.Keys(k.clients))
	errs := inParallel(names, func(_ int, name string) error {
		defer waiting(k.options.Step, "the agent of host %s to end what it started", name)()
		return k.clients[name].Close()
	})
	for _, name := range names {
		if until, ok := k.expires[name]; ok && k.clients[name].Released() {
			delete(k.expires, name) // close may be called twice
			k.options.Step("the join string of host %s is not used up: it stays good until %s", name,
				until.Local().Format(time.DateTime))
		}
	}
	if k.owner != nil {
		errs = append(errs, k.owner.Close())
	}
	return errors.Join(errs...)
}
