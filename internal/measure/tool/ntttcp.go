package tool

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

const (
	ntttcpName = "ntttcp"
	// ntttcpCooldown is how long, in seconds, the sender continues after the window. Without it the receiver's window,
	// which begins a little later than the sender's, would end in silence.
	ntttcpCooldown = 1
)

// ntttcpProgram declares Microsoft's ntttcp. Its two variants, for Windows and for Linux, have different options, print
// in different ways, and can measure with each other. Each connection has a port of its own (Windows has no other way),
// so there are at most as many connections as a host has ports for measuring. UDP is left out: without a connection,
// the receiver's time begins before the sender's.
func ntttcpProgram() program {
	return program{
		declared: experiment.Tool{
			Name: ntttcpName,
			Does: []experiment.Capability{{
				Mode: experiment.Stream, Protocol: experiment.TCP, Message: experiment.Range{Min: 1, Max: 16 << 20},
				Numbers: map[string]experiment.Range{"connections": {Min: 1, Max: 4}}, Duration: wholeSeconds(),
				Warmup: experiment.Durations{Max: time.Minute, Step: time.Second},
			}},
			Runs: "`ntttcp -r -m N,*,ADDR`, `ntttcp -s -m N,*,ADDR`", Systems: "Windows, Linux",
			Versions: "Windows 5.33 to 5.40, Linux 1.x read; run with a stand-in only",
			Prints:   "MB, Mbit/s or Gbit/s; the kernel's smoothed round trip",
		},
		run: NewNtttcp(), mark: ntttcpMark, parse: parseNtttcpText,
		install: installation{
			on: []string{linux, windows}, source: "https://github.com/microsoft/ntttcp-for-linux",
			windows: "get it from https://github.com/microsoft/ntttcp/releases",
		},
	}
}

// Ntttcp is Microsoft's ntttcp, for Windows and for Linux.
type Ntttcp struct{ known }

// NewNtttcp makes the tool. It is asked for the usage: both variants print their version before it.
func NewNtttcp() *Ntttcp {
	return &Ntttcp{known{ntttcpName, probe(ntttcpPrintedVersion, []string{"ntttcp"}, "ntttcp", "-?")}}
}

var ntttcpPrintedVersion = lazyregexp.New(`(?m)^(?:Copyright Version|NTTTCP for Linux) (\S+)`)

// Plan gives a receiver on the server's host and a sender on the client's. They do not synchronise over a separate
// connection, which would need further ports; only in this way can Windows and Linux measure with each other. Both
// sides start counting when the data connections are made. They run for the warm-up, the window, and one second more,
// in which the sender continues. Both end by themselves.
func (*Ntttcp) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(ntttcpProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	port, connections := pair.Server.Ports().Data, max(1, w.Connections)
	seconds, warmup := whole(w.Duration), int(w.Warmup/time.Second)
	line := func(role string, at netip.Addr, system string) []string {
		argv := []string{"ntttcp", role, "-m", fmt.Sprintf("%d,*,%s", connections, at), "-p", strconv.Itoa(port),
			"-t", strconv.Itoa(seconds)}
		warm, cool, noSync, size := "-W", "-C", "-N", "-b"
		if system == windows {
			warm, cool, noSync, size = "-wu", "-cd", "-ns", "-l"
		}
		if warmup > 0 {
			argv = append(argv, warm, strconv.Itoa(warmup))
		}
		argv = append(argv, cool, strconv.Itoa(ntttcpCooldown), noSync)
		if w.Message > 0 {
			argv = append(argv, size, strconv.Itoa(w.Message))
		}
		if at.Is6() {
			argv = append(argv, "-6")
		}
		return argv
	}
	return Plan{
		Server:     &Command{Argv: line("-r", bind, pair.Server.System.OS), Rights: &confine.Options{}},
		Ready:      Ready{Protocol: experiment.TCP, Port: port + connections - 1},
		Sockets:    ntttcpSockets(port, connections),
		ServerEnds: serverEnds,
		Client:     Command{Argv: line("-s", dial, pair.Client.System.OS), Rights: &confine.Options{}},
		Expected:   time.Duration(warmup+seconds+ntttcpCooldown)*time.Second + 500*time.Millisecond,
	}, nil
}

// ntttcpSockets are the ports of the receiver: one for each connection.
func ntttcpSockets(first, connections int) (all []host.Socket) {
	for i := range connections {
		all = append(all, host.Socket{Protocol: experiment.TCP, Port: first + i})
	}
	return all
}

// Parse reads what both sides printed. The goodput is the receiver's; the sender's own throughput is what it handed to
// its kernel. Retransmits are the sender's. ntttcp for Windows ends with exit status 0 and a throughput of 0 after an
// error.
func (*Ntttcp) Parse(out Output) (result.Measurement, error) {
	m, err := parseNtttcpText(plain(out.ServerStdout) + "\n" + plain(out.ServerStderr))
	sender, senderErr := parseNtttcpText(plain(out.Stdout) + "\n" + plain(out.Stderr))
	received := measured{m}
	if w := out.Workload; w != nil {
		received.Mode, received.Protocol = w.Mode, w.Protocol
		if w.Message > 0 {
			received.MessageBytes = w.Message
		}
	}
	received.drop(result.Retransmits) // the receiver sends next to nothing
	for _, got := range sender.Metrics {
		if got.Name == result.Retransmits {
			received.Metrics = append(received.Metrics, got)
			received.note("ntttcp counts the retransmits of the whole host.")
		}
	}
	received.fact("sender.cpu_percent", sender.Facts["cpu_percent"])
	switch {
	case senderErr != nil:
		err = ended(ntttcpName, out, senderErr)
	case err != nil:
		err = fmt.Errorf("the receiver: %w", err)
	case !received.has(result.Goodput) || received.hasZero(result.Goodput):
		received.drop(result.Goodput)
		err = errors.New("ntttcp: nothing arrived at the receiver")
	default:
		err = ended(ntttcpName, out, nil)
	}
	return received.Measurement, err
}
