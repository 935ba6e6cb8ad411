package tool

import (
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
)

const (
	pingName = "ping"
	// pingCount bounds the requests of a trial: each prints a line of about 70 bytes.
	pingCount   = 200_000
	pingPayload = 65507 // the largest that fits an IPv4 packet
	pingWait    = time.Second
)

// Ping is the ping of iputils.
type Ping struct{}

// NewPing makes the tool.
func NewPing() *Ping { return &Ping{} }

// Name is what an experiment file calls it.
func (*Ping) Name() string { return pingName }

// Probe asks for the version.
func (*Ping) Probe() Probe {
	return probe(pingVersion, []string{"ping"}, "ping", "-V")
}

// Plan gives a ping that sends as many requests as fit into the duration at the interval (1 s where none is given), and
// prints a line for each reply, from which percentiles are computed. There is no warm-up: the first reply, which waits
// for address resolution, is in the figures.
func (*Ping) Plan(w experiment.Workload, server host.Endpoint) (Plan, error) {
	interval := w.Interval
	if interval == 0 {
		interval = time.Second
	}
	count := max(1, int64(w.Duration/max(interval, 1)))
	switch {
	case w.Mode != experiment.Ping || w.Protocol != experiment.ICMP:
		return Plan{}, fmt.Errorf("workload %s: ping measures mode ping over icmp, not %s over %s", w.Name, w.Mode, w.Protocol)
	case interval < time.Millisecond:
		return Plan{}, fmt.Errorf("workload %s: ping's interval is at least 1ms, not %v", w.Name, interval)
	case w.Request < 16 || w.Request > pingPayload:
		return Plan{}, fmt.Errorf("workload %s: ping's payload is 16 B (less holds no time stamp) to %d B, not %d B", w.Name, pingPayload, w.Request)
	case count > pingCount:
		return Plan{}, fmt.Errorf("workload %s: %d echo requests in a trial are more than %d: make the interval longer or the duration shorter", w.Name, count, pingCount)
	}
	ip, err := addressFor(w, server)
	if err != nil {
		return Plan{}, err
	}
	argv := []string{"ping", "-n", "-c", strconv.FormatInt(count, 10), "-i", strconv.FormatFloat(interval.Seconds(), 'f', -1, 64),
		"-s", strconv.Itoa(w.Request), "-W", strconv.FormatFloat(pingWait.Seconds(), 'f', -1, 64)}
	if ip.Is6() {
		argv = append(argv, "-6")
	}
	return Plan{
		Client:   Command{Argv: append(argv, ip.String()), Env: []string{"LC_ALL=C"}},
		Expected: time.Duration(count)*interval + 100*time.Millisecond,
	}, nil
}

// Parse reads what ping printed. Exit status 1 says that replies are missing, which the figures say better.
func (*Ping) Parse(out Output) (result.Measurement, error) {
	m, err := parsePing(plain(out.Stdout) + "\n" + plain(out.Stderr))
	if w := out.Workload; w != nil {
		m.Mode, m.Protocol, m.MessageBytes = w.Mode, w.Protocol, w.Request
		if err == nil && w.Warmup > 0 {
			m.Notes = append(m.Notes, "ping has no warm-up: the first reply, which may wait for address resolution, is in the figures.")
		}
	}
	if err == nil && out.ExitCode == 1 {
		return m, nil
	}
	return m, ended(pingName, out, err)
}
