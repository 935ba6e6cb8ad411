package tool

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

const latteName = "latte"

// latteProgram declares Microsoft's latte. Its smallest message has 4 bytes. Its documentation gives no greatest one;
// nearfar asks for at most 64 KiB, and over UDP for what fits into a datagram. How it takes an IPv6 address is not
// documented.
func latteProgram() program {
	rr := func(protocol string, most int) experiment.Capability {
		size := experiment.Range{Min: 4, Max: most}
		return experiment.Capability{
			Mode: experiment.RR, Protocol: protocol, Request: size, Response: size, Reply: experiment.ReplySame,
			Duration: wholeSeconds(), Keys: []string{"background"},
			Numbers:  map[string]experiment.Range{"iterations": {Min: 1, Max: 1e9}},
			OnlyIPv4: "it is not documented how it takes such an address",
		}
	}
	return program{
		declared: experiment.Tool{
			Name: latteName,
			Does: []experiment.Capability{rr(experiment.TCP, 64<<10), rr(experiment.UDP, maxDatagram)},
			Runs: "`latte -a -t -m`, `latte -c -a -t -m`; with `iterations`, `-i` for `-t`", Systems: "Windows",
			Versions: "read; run with a stand-in only", Prints: "the mean full round trip, in us",
		},
		run: NewLatte(), mark: latteMark, parse: parseLatte,
		install: installation{on: []string{windows}, windows: "get it from https://github.com/microsoft/latte/releases"},
	}
}

// Latte is Microsoft's latte, which runs on Windows.
type Latte struct{ known }

// NewLatte makes the tool. It is asked for the program alone: latte does not print its version.
func NewLatte() *Latte {
	return &Latte{known{latteName, Probe{Programs: []string{"latte"}}}}
}

// Plan gives the same command line for both sides, with -c for the client. Both sides end after the same
// time, or after the same number of round trips. There is no warm-up.
func (*Latte) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(latteProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	port, seconds := pair.Server.Ports().Data, whole(w.Duration)
	length := []string{"-t", strconv.Itoa(seconds)}
	if w.Iterations > 0 {
		length = []string{"-i", strconv.Itoa(w.Iterations)}
	}
	at := func(ip netip.Addr) []string {
		line := []string{"-a", netip.AddrPortFrom(ip, uint16(port)).String()}
		line = append(append(line, length...), "-m", strconv.Itoa(w.Request))
		if w.Protocol == experiment.UDP {
			line = append(line, "-udp")
		}
		return line
	}
	return Plan{
		Server:     &Command{Argv: append([]string{"latte"}, at(bind)...), Rights: &confine.Options{}},
		Ready:      Ready{Protocol: w.Protocol, Port: port},
		Sockets:    sockets(0, w.Protocol, port),
		ServerEnds: serverEnds,
		Client:     Command{Argv: append([]string{"latte", "-c"}, at(dial)...), Rights: &confine.Options{}},
		Expected:   time.Duration(seconds)*time.Second + 500*time.Millisecond,
	}, nil
}

// Parse reads what the client printed.
func (*Latte) Parse(out Output) (result.Measurement, error) {
	m, err := parseText(latteName, out, parseLatte)
	if w := out.Workload; w != nil {
		m.MessageBytes = w.Request
	}
	return m, err
}

var (
	latteCommand = lazyregexp.New(`(?:^|[$#>%]\s*)(?:\.[/\\]|\S+\\)?latte(?:\.exe)?\s+-\w`)
	latteKey     = lazyregexp.New(`^(Protocol|SendMethod|ReceiveMethod|SO_SNDBUF|SO_RCVBUF|MsgSize\(byte\)|Iterations|Latency\(usec\)|CPU\(%\)|CtxSwitch/sec|SysCall/sec|Interrupt/sec)[\s:=]+(\S.*)$`)
	latteError   = lazyregexp.New(`(?i)^(?:latte: |error|failed|unable|connect failed|wsa\w+ ?(?:error|failed)).*`)
)

// latteMark recognises lines of latte's output.
func latteMark(line string) mark {
	if strings.Contains(line, "latte") && latteCommand.MatchString(line) {
		return markCommand
	}
	switch s := latteKey.FindStringSubmatch(line); {
	case s == nil:
		return markNone
	case s[1] == "Protocol":
		if strings.HasPrefix(s[2], "TCP") || strings.HasPrefix(s[2], "UDP") || strings.HasPrefix(s[2], "RAW") {
			return markBanner
		}
	case s[1] == "Latency(usec)":
		return markResult
	case strings.ContainsAny(s[1], "(/_") || strings.HasSuffix(s[1], "Method"):
		return markWeak
	}
	return markNone
}

// parseLatte reads one run. Latency(usec) is the full round trip: multiplied by the iterations per second it is 1.
func parseLatte(text string) (result.Measurement, error) {
	m := newMeasured(latteName)
	m.Mode = experiment.RR
	iterations, histogram, failure := 0.0, false, ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		s := latteKey.FindStringSubmatch(line)
		if s == nil {
			histogram = histogram || strings.HasPrefix(line, "Interval(usec)")
			if failure == "" && len(line) < 4096 && latteError.MatchString(line) {
				failure = excerpt(line)
			}
			continue
		}
		first := strings.Fields(s[2])[0]
		switch s[1] {
		case "Protocol":
			m.Protocol = strings.ToLower(excerpt(first))
		case "MsgSize(byte)":
			m.MessageBytes = integer(first)
		case "Iterations":
			if v, ok := number(first); ok && v > 0 {
				iterations = v
				m.fact("iterations", first)
			}
		case "Latency(usec)":
			if v, ok := number(first); ok && v > 0 && !m.has(result.RTT) {
				m.add(result.RTT, result.Mean, v*microsecond, "")
			}
		case "CPU(%)":
			m.fact("cpu_percent", first)
		case "CtxSwitch/sec":
			m.fact("context_switches_per_second", first)
		case "SysCall/sec":
			m.fact("system_calls_per_second", first)
		case "Interrupt/sec":
			m.fact("interrupts_per_second", first)
		case "SendMethod", "ReceiveMethod", "SO_SNDBUF", "SO_RCVBUF":
			m.fact(strings.ToLower(s[1]), s[2])
		}
	}
	if !m.has(result.RTT) {
		if failure != "" {
			return m.Measurement, errors.New("latte: " + failure)
		}
		return m.Measurement, errors.New("latte printed no latency: it was ended before, or the output is cut off")
	}
	if iterations > 0 {
		m.seconds(iterations * m.Metrics[0].Value)
	}
	m.define(result.DefinitionRTT, result.DefinitionRTT)
	if histogram {
		m.note("latte's histogram is not read: it gives the lower edges of its bins only.")
	}
	return m.Measurement, nil
}
