package tool

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

const qperfName = "qperf"

// qperfProgram declares qperf 0.4.11. Over TCP it can send messages larger than 16 MiB, but only few of those fit into
// a second.
func qperfProgram() program {
	segments, datagrams := experiment.Range{Min: 1, Max: 16 << 20}, experiment.Range{Min: 1, Max: maxDatagram}
	rr := func(protocol string, size experiment.Range) experiment.Capability {
		return experiment.Capability{
			Mode: experiment.RR, Protocol: protocol, Request: size, Response: size, Reply: experiment.ReplySame,
			Duration: wholeSeconds(), Keys: []string{"background"},
		}
	}
	stream := func(protocol string, size experiment.Range) experiment.Capability {
		return experiment.Capability{Mode: experiment.Stream, Protocol: protocol, Message: size,
			Duration: wholeSeconds()}
	}
	return program{
		declared: experiment.Tool{
			Name: qperfName,
			Does: []experiment.Capability{
				rr(experiment.TCP, segments), rr(experiment.UDP, datagrams),
				stream(experiment.TCP, segments), stream(experiment.UDP, datagrams),
			},
			Runs: "`qperf`, `qperf HOST tcp_lat, udp_lat, tcp_bw, udp_bw`", Systems: "Linux", Versions: "0.4.11 run",
			Prints: "half of the mean round trip, in ns to s; bytes/s or bit/s",
		},
		install: installation{
			on: []string{linux}, apt: "qperf", ubuntu: "from universe", dnf: "qperf",
			rhel: "since RHEL 9 from EPEL: sudo dnf install epel-release", azure: "qperf",
			azureNote: "after sudo tdnf install azurelinux-repos-extended", zypper: "qperf",
			source: "https://github.com/linux-rdma/qperf",
		},
		run: NewQperf(), mark: qperfMark, parse: parseQperf,
	}
}

// Qperf is Johann George's qperf, with its tests of sockets.
type Qperf struct{ known }

// NewQperf makes the tool.
func NewQperf() *Qperf {
	return &Qperf{known{qperfName, probe(qperfVersion, []string{"qperf"}, "qperf", "--version")}}
}

// Plan gives a server and a client that prints all digits, without prefixes of units, and its counts of messages. The
// server listens on all addresses: qperf has no option to choose one.
func (*Qperf) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	_, dial, err := addressesFor(qperfProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	test, size, seconds := w.Protocol+"_lat", w.Request, whole(w.Duration)
	if w.Mode == experiment.Stream {
		test, size = w.Protocol+"_bw", w.Message
	}
	ports := pair.Server.Ports()
	listen := []string{"qperf", "--listen_port", strconv.Itoa(ports.Control)}
	client := append(listen[:len(listen):len(listen)], "--ip_port", strconv.Itoa(ports.Data), "--time",
		strconv.Itoa(seconds))
	if size > 0 {
		client = append(client, "--msg_size", strconv.Itoa(size))
	}
	client = append(client, "--unify_units", "--use_bits_per_sec", "--precision", "15", "--wait_server", "1",
		"--verbose_more_stat", "--verbose_more_used")
	return Plan{
		Server:   &Command{Argv: listen, Rights: &confine.Options{}},
		Ready:    Ready{Protocol: experiment.TCP, Port: ports.Control},
		Sockets:  sockets(ports.Control, w.Protocol, ports.Data),
		Client:   Command{Argv: append(client, dial.String(), test), Rights: &confine.Options{}},
		Expected: time.Duration(seconds)*time.Second + 200*time.Millisecond,
	}, nil
}

// Parse reads what the client printed.
func (*Qperf) Parse(out Output) (result.Measurement, error) {
	return parseText(qperfName, out, parseQperf)
}

var (
	qperfVersion = lazyregexp.New(`qperf ([0-9][\w.]*)`)
	qperfCommand = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:\./|/\S+/)?qperf\s+\S`)
	qperfTest    = lazyregexp.New(`^(tcp|udp|sctp|sdp|rds)_(lat|bw):$`)
	// qperfValue is a name, a number, its unit, and in brackets the exact number where the first is in powers of 1024.
	qperfValue   = lazyregexp.New(`^([a-z_]+) +=  *([0-9][0-9.,]*) ?([A-Za-z%/]*)[a-z% ]*(?:\(([0-9,]+)\))?$`)
	qperfFailure = lazyregexp.New(`^\S+: failed to connect|^(?:failed|could not|unable|cannot|timed out|server |remote |\S+: no such) ?.*`)
)

// qperfMark recognises lines of qperf's output.
func qperfMark(line string) mark {
	switch {
	case !containsAny(line, "qperf", "_lat:", "_bw:", "=", "failed to connect"):
		return markNone
	case qperfCommand.MatchString(line):
		return markCommand
	case qperfTest.MatchString(line):
		return markBanner
	}
	s := qperfValue.FindStringSubmatch(line)
	if s == nil {
		return markNone
	}
	switch s[1] {
	case "latency", "bw", "send_bw":
		return markResult
	case "recv_bw":
		return markTail
	case "msg_rate", "msg_size", "loc_send_msgs", "loc_recv_msgs", "send_msgs", "recv_msgs":
		return markWeak
	}
	return markNone
}

// qperfUnits gives how many base units a unit of qperf is; prefixes are powers of 1000.
func qperfUnits(unit string) (scale float64, ok bool) {
	times := map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "sec": 1, "": 1, "thousand": 1e3, "million": 1e6,
		"billion": 1e9}
	if scale, ok = times[unit]; ok {
		return scale, true
	}
	prefixes := map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
	for _, kind := range []struct {
		suffix string
		base   float64
	}{{"bits/sec", 1}, {"b/sec", 1}, {"bytes/sec", 8}, {"B/sec", 8}, {"/sec", 1}, {"bytes", 1}, {"B", 1}} {
		if prefix, found := strings.CutSuffix(unit, kind.suffix); found {
			scale, ok = prefixes[prefix]
			return scale * kind.base, ok
		}
	}
	return 0, false
}

// parseQperf reads one test. Its latency is the time of the test divided by all messages, those that were sent and
// those that came back: half of the mean round trip, which is doubled here. The bandwidth is the receiver's.
func parseQperf(text string) (result.Measurement, error) {
	m := newMeasured(qperfName)
	m.Tool.Version = find(qperfVersion, text)
	values, failure := map[string]float64{}, ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if test := qperfTest.FindStringSubmatch(line); test != nil {
			m.Protocol, m.Mode = test[1], experiment.RR
			if test[2] == "bw" {
				m.Mode = experiment.Stream
			}
		}
		s := qperfValue.FindStringSubmatch(line)
		if s == nil {
			if failure == "" && qperfFailure.MatchString(line) {
				failure = excerpt(line)
			}
			continue
		}
		printed, unit := s[2], s[3]
		if s[4] != "" {
			printed, unit = s[4], "" // the same without a power of 1024
		}
		v, read := number(strings.ReplaceAll(printed, ",", ""))
		scale, known := qperfUnits(unit)
		if _, twice := values[s[1]]; read && known && !twice {
			values[s[1]] = v * scale
		}
	}
	m.seconds(values["time"])
	counted := values["recv_msgs"] + values["loc_send_msgs"] + values["loc_recv_msgs"]
	if rate := values["msg_rate"]; rate > 0 && counted > 0 {
		m.seconds(counted / rate) // the window as it was, and not as it was asked for
	}
	if size, known := values["msg_size"]; known && size >= 1 && size < 1<<40 {
		m.MessageBytes = int(size)
	}
	return qperfJudge(m, values, failure)
}

// qperfJudge makes metrics of the printed values, by the mode.
func qperfJudge(m *measured, values map[string]float64, failure string) (result.Measurement, error) {
	add := func(name, stat, key string, scale float64) {
		if v, known := values[key]; known {
			m.add(name, stat, v*scale, "")
		}
	}
	bandwidth := "bw"
	if _, known := values["recv_bw"]; known {
		bandwidth = "recv_bw"
	}
	switch {
	case values["latency"] > 0:
		m.Mode = experiment.RR
		m.define(result.DefinitionHalfRTT, result.DefinitionRTT)
		m.note("qperf printed half round trips; they are doubled here.")
		add(result.RTT, result.Mean, "latency", 2)
		add(result.TransactionRate, "", "msg_rate", 0.5) // it counts both directions
		add(result.Sent, "", "loc_send_msgs", 1)
		add(result.Received, "", "loc_recv_msgs", 1)
	case values[bandwidth] > 0:
		m.Mode = experiment.Stream
		m.define(result.DefinitionRate, result.DefinitionRate)
		add(result.Goodput, "", bandwidth, 1)
		if m.Protocol != experiment.UDP {
			break
		}
		add(result.Sent, "", "send_msgs", 1)
		add(result.Received, "", "recv_msgs", 1)
		if sent, received := values["send_msgs"], values["recv_msgs"]; sent > 0 && received > 0 && received <= sent {
			m.add(result.Loss, "", 1-received/sent, "")
		}
	case failure != "":
		return m.Measurement, errors.New("qperf: " + failure)
	default:
		return m.Measurement, errors.New(
			"qperf printed no result: no message arrived, it was ended before its end, or the output is cut off")
	}
	return m.Measurement, nil
}
