package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/base/bounded"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/reach"
)

// A probe is one check of ports: a client's host dials sockets of a server's host.
type probe struct {
	client, server string
	traffic        host.Traffic
}

// checkPorts makes real connections between the hosts of the arms that sides knows. The servers of different machines
// are checked at the same time, and for each server all its clients. Two names of one machine have the same ports, so
// they are checked one after the other.
func (k *fleet) checkPorts(ctx context.Context, sides map[string]Sides, traffic []host.Traffic) []string {
	type place struct {
		server string
		bind   netip.Addr
	}
	var places []place
	probes := map[place][]probe{}
	for _, t := range traffic {
		between, known := sides[t.Arm]
		if !known || k.clients[between.Server] == nil || k.clients[between.Client] == nil {
			continue
		}
		p := place{between.Server, t.Bind}
		if !slices.Contains(places, p) {
			places = append(places, p)
		}
		probes[p] = append(probes[p], probe{between.Client, between.Server, t})
	}
	// A run that measures must not be disturbed: it is asked for before a port is touched.
	run, ports := agent.NewSession(), map[string][]int{}
	for p, of := range probes {
		for _, one := range of {
			for _, s := range one.traffic.Sockets {
				if !slices.Contains(ports[p.server], s.Port) {
					ports[p.server] = append(ports[p.server], s.Port)
				}
			}
		}
	}
	if problems := k.reserve(ctx, run, ports); len(problems) > 0 {
		return problems
	}
	problems := make([][]string, len(places))
	machines := map[string][]int{}
	for i, p := range places {
		at := k.machineOf(p.server)
		machines[at] = append(machines[at], i)
	}
	var all sync.WaitGroup
	for _, of := range machines {
		all.Go(func() {
			for _, i := range of {
				problems[i] = k.checkServer(ctx, places[i].server, places[i].bind, probes[places[i]])
			}
		})
	}
	all.Wait()
	return slices.Concat(problems...)
}

// machineOf is the same for two names of one machine: the kernel's boot id, or the name if it is not known. Pods have
// addresses and ports of their own.
func (k *fleet) machineOf(name string) string {
	if id := k.clients[name].Known().BootID; id != "" && !k.pods {
		return id
	}
	return name
}

// reserve reserves the ports of all servers for this run. The problems are sorted by the servers' names.
func (k *fleet) reserve(ctx context.Context, run string, ports map[string][]int) (problems []string) {
	for _, server := range slices.Sorted(maps.Keys(ports)) {
		slices.Sort(ports[server])
		if err := k.clients[server].Reserve(ctx, run, ports[server]); errors.Is(err, agent.ErrReserved) {
			problems = append(problems, fmt.Sprintf("%s: %v: wait for its end, or set 'port:' of the host to four free ports",
				server, err))
		} else if errors.Is(err, host.ErrLost) {
			problems = append(problems, fmt.Sprintf("%s: the ports cannot be reserved: %v", server, err))
		} // an older agent reserves nothing: then the check of the ports finds the other run
	}
	return problems
}

// checkServer lets the server's host hold all sockets of the probes while their clients dial them.
func (k *fleet) checkServer(ctx context.Context, server string, bind netip.Addr, probes []probe) []string {
	ctx, cancel := context.WithTimeout(ctx, reach.Lifetime)
	defer cancel()
	var sockets []host.Socket
	for _, p := range probes {
		for _, s := range p.traffic.Sockets {
			if !slices.Contains(sockets, s) {
				sockets = append(sockets, s)
			}
		}
	}
	secret := reach.NewSecret()
	printed, process, err := startReach(ctx, k.hosts[server], secret, "serve", bind, sockets)
	if err != nil {
		return []string{fmt.Sprintf("%s: the ports cannot be checked: %v", server, err)}
	}
	defer func() {
		_ = process.Stop(0) // its end does not matter
		_ = process.Wait()  // then all that it printed is there
		k.sawSources(server, probes, printed.sources())
	}()
	held, err := printed.results(ctx, process)
	if err != nil {
		return []string{fmt.Sprintf("%s: the ports cannot be checked: %v", server, err)}
	}
	problems, open := notHeld(ctx, server, bind, process, held)
	found := make([][]string, len(probes))
	var all sync.WaitGroup
	for i, p := range probes {
		p.traffic.Sockets = slices.DeleteFunc(slices.Clone(p.traffic.Sockets), func(s host.Socket) bool {
			return !slices.Contains(open, s)
		})
		if len(p.traffic.Sockets) > 0 {
			all.Go(func() { found[i] = k.dial(ctx, p, secret) })
		}
	}
	all.Wait()
	for _, line := range slices.Concat(found...) {
		if !slices.Contains(problems, line) { // arms with the same two hosts have the same problems
			problems = append(problems, line)
		}
	}
	return problems
}

// holderLimit is how long it may take to find out who holds a port.
const holderLimit = 5 * time.Second

// notHeld says why the server's host cannot open sockets, and which ones it holds. A port that another process holds is
// named with that process.
func notHeld(ctx context.Context, server string, bind netip.Addr, p host.Process, held []reach.Result) (
	problems []string, open []host.Socket,
) {
	ctx, cancel := context.WithTimeout(ctx, holderLimit)
	defer cancel()
	lines := make([]string, len(held))
	var all sync.WaitGroup
	for i, r := range held {
		if r.Outcome == reach.Reached {
			open = append(open, r.Socket)
			continue
		}
		all.Go(func() {
			why := r.Detail
			if r.Outcome == reach.Taken {
				if taken, ok := errors.AsType[*host.PortTakenError](p.Serves(ctx, r.Protocol, r.Port)); ok {
					why = taken.Error() + ": end it, or set 'port:' of the host to four free ports"
				}
			}
			lines[i] = fmt.Sprintf("%s: %s port %d at %v cannot be opened: %s", server,
				strings.ToUpper(r.Protocol), r.Port, bind, why)
		})
	}
	all.Wait()
	problems = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	return problems, open
}

// dial lets the client's host dial the sockets, and says what stops it.
func (k *fleet) dial(ctx context.Context, p probe, secret []byte) []string {
	fail := func(err error) []string {
		return []string{fmt.Sprintf("%s to %s: the ports cannot be checked: %v", p.client, p.server, err)}
	}
	printed, process, err := startReach(ctx, k.hosts[p.client], secret, "dial", p.traffic.Dial, p.traffic.Sockets)
	if err != nil {
		return fail(err)
	}
	results, err := printed.results(ctx, process)
	if err != nil {
		return fail(err)
	}
	from, _ := k.hosts[p.client].Endpoint().Dial.Of(version(p.traffic.Dial))
	return portProblems(blocked{
		client: p.client, server: p.server, at: p.traffic.Dial, from: from, facts: k.clients[p.server].Known(),
		pods: k.pods,
	}, results)
}

// version is the IP version of an address.
func version(a netip.Addr) int {
	if a.Is4() {
		return 4
	}
	return 6
}

// firstLine waits for the first line that a process prints, a list of results. It keeps what the process prints on
// standard error.
type firstLine struct {
	mu     sync.Mutex
	b      []byte // with what follows the line
	done   bool
	seen   chan struct{} // closed when the line is there
	errors *bounded.Buffer
}

const (
	// maxLine bounds the line, in bytes.
	maxLine = 1 << 20
	// maxErrors bounds what is kept of standard error, in bytes.
	maxErrors = 2 << 10
)

// startReach starts a check of ports on a host.
func startReach(ctx context.Context, h host.Host, secret []byte, do string, at netip.Addr, sockets []host.Socket) (
	*firstLine, host.Process, error,
) {
	printed := &firstLine{seen: make(chan struct{}), errors: bounded.New(maxErrors)}
	process, err := h.Start(ctx, host.Cmd{
		Argv:  []string{host.Self, reach.Verb, do, at.String(), "--sockets", reach.Join(sockets)},
		Stdin: secret, Stdout: printed, Stderr: printed.errors,
	})
	return printed, process, err
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.b)+len(p) <= maxLine {
		f.b = append(f.b, p...)
		if !f.done && bytes.IndexByte(f.b, '\n') >= 0 {
			f.done = true
			close(f.seen)
		}
	}
	return len(p), nil
}

// sources are the addresses in the lines behind the first one.
func (f *firstLine) sources() (all []netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, more, _ := bytes.Cut(f.b, []byte("\n"))
	for line := range bytes.Lines(more) {
		var s reach.Source
		if json.Unmarshal(line, &s) == nil && s.From.IsValid() {
			all = append(all, s.From)
		}
	}
	return all
}

// results waits for the line, or for the end of the process without one.
func (f *firstLine) results(ctx context.Context, p host.Process) (results []reach.Result, err error) {
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case <-f.seen:
	case err = <-ended:
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer within %v", reach.Lifetime)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		return nil, fmt.Errorf("%w %s", err, bytes.TrimSpace(f.errors.Bytes()))
	}
	line, _, _ := bytes.Cut(f.b, []byte("\n"))
	if err := json.Unmarshal(line, &results); err != nil {
		return nil, err
	}
	return results, nil
}

// blocked is a blocked direction between two hosts, with the facts that are needed to say how to open ports.
type blocked struct {
	client, server string
	// at is the server's address, from the client's; from may be invalid.
	at, from netip.Addr
	// facts are the facts of the server.
	facts agent.Facts
	// pods says that a side is a pod.
	pods bool
}
