package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"nearfar/internal/base/pcapfile"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/packets"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// captureSpare is how much longer than its trial a capture may last, if nobody ends it.
const captureSpare = time.Minute

// captured is a capture with its file.
type captured struct {
	packets.Capture
	suffix string
	data   []byte
}

// capturing makes the capturers of a trial, whose client is expected to run so long. There are none if the workload is
// no captured twin.
func (r *Runner) capturing(
	w experiment.Workload, slot experiment.Slot, expected time.Duration,
) *lookers[captured] {
	if !w.Capture {
		return &lookers[captured]{}
	}
	hosts := r.hosts[slot.Arm]
	all := &lookers[captured]{ready: r.limits.Ready}
	add := func(h host.Host, side, suffix string, places ...packets.Place) {
		one := &capturer{side: side, suffix: suffix, beside: beside{
			host: h, verb: packets.Verb, name: "capturer", says: packets.Capturing, most: packets.MaxSize,
		}}
		o := packets.Options{
			Side: side, Protocol: w.Protocol, Places: places, Longest: w.Warmup + max(w.Duration, expected) + captureSpare,
			Comment: fmt.Sprintf("trial %d, block %d, arm %s, workload %s of the experiment %s", slot.Trial, slot.Block,
				slot.Arm, slot.Workload, r.experiment.Name),
		}
		one.options, one.problem = captureOptions(o, w, hosts.Endpoints())
		all.all = append(all.all, one)
	}
	kernels := hosts.Machines.Kernels()
	if spaces := openable(kernels.Places); kernels.One && len(spaces) > 0 {
		add(hosts.Client, packets.Both, ".pcapng", spaces...)
		return all
	}
	add(hosts.Client, packets.Client, ".client.pcapng", packets.Place{Name: packets.Client})
	add(hosts.Server, packets.Server, ".server.pcapng", packets.Place{Name: packets.Server})
	return all
}

// openable are the places that a process on the hosts can open.
func openable(places []inside.Place) (all []packets.Place) {
	for _, p := range places {
		if p.File != "" {
			all = append(all, packets.Place{Name: p.Name, File: p.File})
		}
	}
	return all
}

// captureOptions are the standard input of a capturer. problem says why there is none; empty for none.
func captureOptions(o packets.Options, w experiment.Workload, pair host.Pair) (options []byte, problem string) {
	servers, err := serversOf(w, pair)
	if err != nil {
		return nil, err.Error()
	}
	o.Servers = servers
	if w.Protocol == experiment.ICMP {
		// Without ports, the client's addresses tell the trial's packets from those of others.
		bind, dial := pair.Client.Bind, pair.Client.Dial
		o.Clients = distinct(bind.V4, bind.V6, dial.V4, dial.V6)
	} else {
		o.Port = uint16(pair.Server.Ports().Data) // #nosec G115 -- a port
	}
	if err := o.Check(); err != nil {
		return nil, err.Error()
	}
	options, err = json.Marshal(o)
	if err != nil {
		return nil, err.Error()
	}
	return options, ""
}

// capturer is the process that captures on one machine.
type capturer struct {
	beside
	side, suffix string
}

// end ends the process, and gives its capture, or why there is none.
func (c *capturer) end() captured {
	out := captured{Capture: packets.Capture{Side: c.side}, suffix: c.suffix}
	printed, problem := c.beside.end(func(printed []byte) (err error) {
		out.Points, err = pointsIn(printed)
		return err
	})
	switch {
	case problem != "":
		out.Capture = packets.Unknown(c.side, errors.New(problem))
	case len(out.Points) == 0:
		out.Capture = packets.Unknown(c.side, errors.New("no packet of the trial was seen"))
	default:
		out.data = printed
	}
	return out
}

// pointsIn reads which points a capture has. It comes from a host: one that breaks a bound is refused.
func pointsIn(file []byte) ([]packets.Point, error) {
	var interfaces []*pcapfile.Interface
	kept := map[*pcapfile.Interface]int{}
	truncated, err := pcapfile.All("the capture", bytes.NewReader(file), func(p pcapfile.Packet) error {
		if kept[p.Interface]++; kept[p.Interface] == 1 {
			interfaces = append(interfaces, p.Interface)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case truncated != "":
		return nil, errors.New(truncated)
	}
	var points []packets.Point
	slices.SortFunc(interfaces, func(a, b *pcapfile.Interface) int {
		return cmp.Or(cmp.Compare(a.Section, b.Section), cmp.Compare(a.Index, b.Index))
	})
	for _, i := range interfaces {
		p := packets.Point{Name: i.Name, Packets: kept[i], Dropped: i.Dropped}
		if in := uint64(p.Packets) + p.Dropped; i.Received > in { // #nosec G115 -- a number of packets
			p.Untimed = i.Received - in
		}
		points = append(points, p)
	}
	return points, packets.CheckPoints(points)
}

// keepCaptures writes the captures of a trial into the run directory.
func (r *Runner) keepCaptures(trial *result.Trial, all []captured) error {
	for _, c := range all {
		if len(c.data) > 0 {
			name, err := r.record.WriteRaw(stemOf(trial)+c.suffix, c.data)
			if err != nil {
				return fmt.Errorf("trial %d cannot be kept: %w", trial.Trial, err)
			}
			c.File = name
		}
		trial.Captures = append(trial.Captures, c.Capture)
	}
	return nil
}
