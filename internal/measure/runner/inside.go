package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// watchedTrips is how many round trips of a trial are wanted. Enough of them are then the slowest 1 %.
const watchedTrips = 2000

// watch makes the watchers of the kernels below a workload in an arm, whose client is expected to run so long. There
// are none if the workload is no watched twin.
func (r *Runner) watch(w experiment.Workload, arm string, expected time.Duration) *lookers[file] {
	if !w.Inside {
		return &lookers[file]{}
	}
	hosts := r.hosts[arm]
	kernels := hosts.Machines.Kernels()
	sides := []string{inside.Both}
	if !kernels.One {
		sides = []string{inside.Client, inside.Server}
	}
	all := &lookers[file]{ready: r.limits.Ready}
	for _, side := range sides {
		at, own := lookoutOf(hosts, kernels, side)
		if at.Host != nil {
			own = at.Host
		}
		watching := newWatcher(side, ".inside.json", own)
		if side == inside.Server {
			watching.suffix = ".inside.server.json"
		}
		watching.problem = at.Problem
		o, err := watchOptions(w, hosts.Endpoints(), side, expected)
		if err == nil {
			locate(&o, kernels, at.Host != nil)
			watching.options, err = written(o)
		}
		if err != nil {
			watching.problem = err.Error()
		}
		all.all = append(all.all, watching)
	}
	return all
}

// lookoutOf is where a side's kernel is watched, and the side's own host. Of one kernel, either side's place will do.
func lookoutOf(hosts host.Hosts, kernels host.Kernels, side string) (at host.Lookout, own host.Host) {
	if side == inside.Server || side == inside.Both && kernels.Client.Problem != "" && kernels.Server.Host != nil {
		return kernels.Server, hosts.Server
	}
	return kernels.Client, hosts.Client
}

// watchOptions are what a watcher of a side looks for. The error says why there is nothing.
func watchOptions(w experiment.Workload, pair host.Pair, side string, expected time.Duration) (inside.Options, error) {
	servers, err := serversOf(w, pair)
	if err != nil {
		return inside.Options{}, err
	}
	o := inside.Options{
		Side: side, Protocol: w.Protocol, Port: uint16(pair.Server.Ports().Data), // #nosec G115 -- a port
		// Some tools run for longer than their window. Trips are spread over all of it.
		Trips: watchedTrips, Warmup: w.Warmup, Duration: max(w.Duration, expected-w.Warmup),
		Servers: servers,
	}
	if w.Protocol == experiment.ICMP {
		o.Port = 0
	}
	return o, nil
}

// locate says what is known of the namespaces of a watcher's kernel. elsewhere says that the watcher runs on another
// host than its side's own.
func locate(o *inside.Options, kernels host.Kernels, elsewhere bool) {
	begin := kernels.Client.Space
	if o.Side != inside.Server {
		o.ClientNode = kernels.Client.Node
	}
	switch o.Side {
	case inside.Both:
		o.Places, o.ServerNode = kernels.Places, kernels.Server.Node
	case inside.Server:
		o.ServerNode = kernels.Server.Node
		begin = 0 // requests arrive at a device of the machine, in whatever namespace it is
	}
	if elsewhere {
		o.Space = &begin
	}
}

// written are options as a watcher reads them.
func written(o inside.Options) ([]byte, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// serversOf are the addresses of a workload's server: where it listens, and where the client sends to.
func serversOf(w experiment.Workload, pair host.Pair) ([]netip.Addr, error) {
	bind, dial, err := pair.Addresses(w.IP)
	if err != nil {
		return nil, err
	}
	return distinct(bind, dial), nil
}

// distinct are those of some addresses that stand for a host, each once.
func distinct(some ...netip.Addr) []netip.Addr {
	all := []netip.Addr{}
	for _, a := range some {
		if a = a.Unmap().WithZone(""); a.IsValid() && !a.IsUnspecified() && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// watcher is the process that watches one kernel.
type watcher struct {
	beside
	side, suffix string
}

// newWatcher makes the watcher of a side.
func newWatcher(side, suffix string, h host.Host) *watcher {
	return &watcher{side: side, suffix: suffix, beside: beside{
		host: h, verb: inside.Verb, name: "watcher", says: inside.Watching, most: inside.MaxSize,
	}}
}

// end ends the process, and gives the recording: what it wrote, or one that says why nothing is known.
func (w *watcher) end() file {
	printed, problem := w.beside.end(func(printed []byte) error {
		r, err := inside.Decode(printed)
		if err == nil && r.Side != w.side {
			err = fmt.Errorf("it is of the side %s, and not %s", r.Side, w.side)
		}
		return err
	})
	if problem == "" {
		return file{w.suffix, printed}
	}
	data, err := json.Marshal(inside.Unknown(w.side, errors.New(problem)))
	if err != nil {
		panic(err) // plain data always has a text
	}
	return file{w.suffix, data}
}

// keepInside writes the recordings of a trial into the run directory.
func (r *Runner) keepInside(trial *result.Trial, recordings []file) error {
	for _, f := range recordings {
		name, err := r.record.WriteRaw(stemOf(trial)+f.suffix, f.data)
		if err != nil {
			return fmt.Errorf("trial %d cannot be kept: %w", trial.Trial, err)
		}
		trial.Inside = append(trial.Inside, name)
	}
	return nil
}
