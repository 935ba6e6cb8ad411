package tool

import (
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

const (
	sockperfName = "sockperf"
	// sockperfCut is the time that sockperf leaves out of its latencies: 400 ms of warm-up and 50 ms at the end.
	sockperfCut    = sockperfWarmup + 50*time.Millisecond
	sockperfWarmup = 400 * time.Millisecond
)

// sockperfProgram declares sockperf 3.7. Its smallest message is 14 bytes, and its server receives 65507 unless told
// otherwise. Rates (--mps) are whole numbers. throughput is not run over UDP: it prints what the client sent, whether
// or not it arrived.
func sockperfProgram() program {
	size := experiment.Range{Min: 14, Max: 65507}
	rate := experiment.RateLimits{Unit: experiment.EventRate, Min: 1, Max: 1e6, Step: 1}
	capability := func(mode, protocol string) experiment.Capability {
		return experiment.Capability{Mode: mode, Protocol: protocol, Duration: wholeSeconds(),
			OnlyIPv4: "its versions before 3.9 cannot"}
	}
	transactions := func(mode, protocol string) experiment.Capability {
		c := capability(mode, protocol)
		c.Request, c.Response, c.Reply, c.Keys = size, size, experiment.ReplySame, []string{"background"}
		if mode == experiment.RR {
			c.Keys = append(c.Keys, "inside", "capture")
		}
		if mode == experiment.Load {
			c.Rate = rate
			c.Numbers = map[string]experiment.Range{"reply_every": {Min: 1, Max: 1e6}}
		}
		return c
	}
	messages := capability(experiment.Messages, experiment.TCP)
	messages.Message, messages.DefaultMessage, messages.Rate = size, 64, rate
	return program{
		declared: experiment.Tool{
			Name: sockperfName,
			Does: []experiment.Capability{
				transactions(experiment.RR, experiment.TCP), transactions(experiment.RR, experiment.UDP),
				transactions(experiment.Load, experiment.TCP), transactions(experiment.Load, experiment.UDP),
				messages,
			},
			Runs:    "`sockperf server`, `sockperf ping-pong --full-rtt, under-load --full-rtt, throughput`",
			Systems: "Linux", Versions: "3.7 run; 2.x to 3.10 read",
			Prints: "full round trips with `--full-rtt`, else half of each, in us; messages/s sent",
		},
		run: NewSockperf(), mark: sockperfMark, parse: parseSockperf,
		install: installation{
			on: []string{linux}, apt: "sockperf", ubuntu: "from universe", dnf: "sockperf",
			source: "https://github.com/Mellanox/sockperf",
		},
	}
}

// Sockperf is Mellanox' (NVIDIA's) sockperf.
type Sockperf struct{ known }

// NewSockperf makes the tool.
func NewSockperf() *Sockperf {
	return &Sockperf{known{sockperfName, probe(sockperfVersion, []string{"sockperf"}, "sockperf", "--version")}}
}

// Plan gives a server, and a client that reports the full round trip (rr, load) or the rate at which it sent
// (messages). sockperf takes whole seconds and leaves 450 ms out of its latencies, so it runs one second longer than
// the window that was asked for. throughput leaves nothing out.
func (*Sockperf) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(sockperfProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	port := pair.Server.Ports().Data
	at := func(address fmt.Stringer) []string {
		to := []string{"-i", address.String(), "-p", strconv.Itoa(port)}
		if w.Protocol == experiment.TCP {
			to = append(to, "--tcp")
		}
		return to
	}
	client := append([]string{"sockperf", sockperfCommandOf(w.Mode)}, at(dial)...)
	seconds := whole(w.Duration + sockperfCut)
	if w.Mode == experiment.Messages {
		seconds = whole(w.Duration)
		client = append(client, "-m", strconv.Itoa(w.Message), "-t", strconv.Itoa(seconds))
	} else {
		client = append(client, "-m", strconv.Itoa(w.Request), "-t", strconv.Itoa(seconds), "--full-rtt")
	}
	switch {
	case w.OfferedRate > 0:
		client = append(client, "--mps="+strconv.FormatFloat(w.OfferedRate, 'f', 0, 64))
	case w.Mode == experiment.Messages:
		client = append(client, "--mps=max")
	}
	if w.Mode == experiment.Load {
		client = append(client, "--reply-every="+strconv.Itoa(max(1, w.ReplyEvery)))
	}
	server := append([]string{"sockperf", "server"}, at(bind)...)
	if w.Protocol == experiment.TCP {
		// Another tool's server may have used the port just before. Without this, its closed connections block it.
		server = append(server, "--uc-reuseaddr")
	}
	return Plan{
		Server:   &Command{Argv: server, Rights: &confine.Options{}},
		Ready:    Ready{Protocol: w.Protocol, Port: port},
		Sockets:  sockets(0, w.Protocol, port),
		Client:   Command{Argv: client, Rights: &confine.Options{}},
		Expected: time.Duration(seconds)*time.Second + 200*time.Millisecond,
	}, nil
}

// sockperfCommandOf is the command of sockperf that measures a mode.
func sockperfCommandOf(mode string) string {
	switch mode {
	case experiment.Load:
		return "under-load"
	case experiment.Messages:
		return "throughput"
	}
	return "ping-pong"
}

// Parse reads what the client printed. sockperf ends with exit status 0 even if it measured nothing.
func (*Sockperf) Parse(out Output) (result.Measurement, error) {
	m, err := parseText(sockperfName, out, parseSockperf)
	w := out.Workload
	if w == nil {
		return m, err
	}
	m.MessageBytes = w.Request
	switch w.Mode {
	case experiment.Messages:
		m.MessageBytes = w.Message
	case experiment.Load:
		m = sockperfLoad(m, *w)
	}
	return m, err
}

// sockperfLoad says what the latencies under a load leave out.
func sockperfLoad(m result.Measurement, w experiment.Workload) result.Measurement {
	noted := measured{m}
	for _, got := range m.Metrics {
		if got.Name != result.Sent || m.Duration <= 0 {
			continue
		}
		if rate := got.Value / m.Duration.Seconds(); rate < 0.95*w.OfferedRate {
			noted.note("sockperf sent %.0f requests/s of the %.0f/s that were asked for.", rate, w.OfferedRate)
		}
	}
	if noted.has(result.RTT) {
		noted.note("sockperf counts from when it sent a request, not from when the request was due.")
	}
	return noted.Measurement
}
