// Package tool holds the measuring programs: what each can do, how it is run, and what its output means.
//
// A tool plans command lines and reads what they printed; it never runs anything. Adding one is a file here, a name in
// the list of programs (registry.go), and recorded outputs under testdata/<tool>/<version>/.
package tool

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

// A Tool is a measuring program.
type Tool interface {
	// Name is what an experiment file calls it.
	Name() string
	// Plan gives the command lines of one trial between two hosts. The server binds the ports of its endpoint, and no
	// others. An error says what the tool cannot do of what the workload asks.
	Plan(w experiment.Workload, pair host.Pair) (Plan, error)
	// Parse reads the output of the client, and of the server if it matters. For a failed run it gives an error with
	// the reason, and may also return the figures that are still valid.
	Parse(out Output) (result.Measurement, error)
	// Probe gives the command that prints the version on the client's side, and the programs that must be there.
	Probe() Probe
}

// A Companion is a tool that can run at the same time as any workload, as its background.
type Companion interface {
	// PlanBackground gives the command lines of a background, on the server's ports for backgrounds. The client runs
	// for the longest time, unless it is ended before.
	PlanBackground(w experiment.Workload, pair host.Pair, longest time.Duration) (Plan, error)
	// Flowing reports whether the client's output so far shows that its data arrives.
	Flowing(stdout []byte) bool
	// Reported says whether the client's output so far covers the time until a moment, by the clock of its host.
	Reported(stdout []byte, until time.Time) bool
	// ParseBackground gives the figures of the time in which the workload ran, by the clock of the client's host. It
	// does not matter when the output was read. Output after the client was ended is ignored.
	ParseBackground(out Output, from, until time.Time) (result.Measurement, error)
}

// Plan is what one trial of a workload runs.
type Plan struct {
	// Server runs on the server's host before the client. It is nil if the tool needs none.
	Server *Command
	// Ready says how to know that the server is ready. It is used only if Server is not nil.
	Ready Ready
	// ReadyCommand is a program on the server's host that ends with 0 when the server is ready, instead of Ready; nil
	// for none.
	ReadyCommand []string
	// ReadyWithin is how long the server may take until it is ready; 0 for the runner's limit.
	ReadyWithin time.Duration
	// Sockets are the sockets of the server's host to which the client's host connects or sends.
	Sockets []host.Socket
	// ServerEnds is how long the server may take to end by itself after the client, with what it prints then. 0: it is
	// stopped as soon as the client has ended.
	ServerEnds time.Duration
	// Client is run on the client's host, and its end is the end of the trial.
	Client Command
	// Front is the host on which the front of an application runs, experiment.FrontClient or FrontServer; empty for
	// none. It is put there before anything is measured.
	Front string
	// Database says that PostgreSQL is started on the server's host.
	Database bool
	// Expected is how long the client runs: warm-up, window and the tool's own overhead.
	Expected time.Duration
}

// serverEnds is the ServerEnds of tools whose two sides end after the same time.
const serverEnds = 5 * time.Second

// onceEnds is the ServerEnds of servers that serve one client (nearfar engine serve --once, iperf3 -s -1).
const onceEnds = 2 * time.Second

// Command is one process of a plan.
type Command struct {
	Argv []string
	Env  []string
	// Stdin is what the process reads; secrets travel here.
	Stdin []byte
	// Secret is a word of Argv that must not get into a record; empty for none. Programs that take a secret on their
	// command line alone have one.
	Secret string
	// Rights are what is left to the process; nil for all that the host's user has.
	Rights *confine.Options
}

// Words are the command line as the host runs it.
func (c Command) Words() []string {
	if c.Rights == nil {
		return c.Argv
	}
	return append(append([]string{host.Self}, c.Rights.Args()...), c.Argv...)
}

// Confined gives the plan with the rights that its processes need between these hosts. peers are the addresses from
// which the server's host sees the client; none if that is not known. Systems other than Linux leave all rights to a
// process.
func (p Plan) Confined(pair host.Pair, peers []netip.Prefix) Plan {
	if pair.Client.System.OS != linux {
		p.Client.Rights = nil
	}
	if p.Server == nil || p.Server.Rights == nil {
		return p
	}
	server := *p.Server
	p.Server = &server
	if pair.Server.System.OS != linux {
		server.Rights = nil
		return p
	}
	rights := *server.Rights
	rights.Peers, rights.Ports = peers, nil
	for _, s := range p.Sockets {
		if !slices.Contains(rights.Ports, s.Port) {
			rights.Ports = append(rights.Ports, s.Port)
		}
	}
	server.Rights = &rights
	return p
}

// Redactor replaces the secrets of a plan's command lines in texts.
func (p Plan) Redactor() *strings.Replacer {
	var pairs []string
	for _, c := range []*Command{p.Server, &p.Client} {
		if c != nil && c.Secret != "" {
			pairs = append(pairs, c.Secret, Redacted)
		}
	}
	return strings.NewReplacer(pairs...)
}

// Redacted stands for a secret in what is kept and shown.
const Redacted = "REDACTED"

// Ready says how to know that a server is ready: it holds a socket of the protocol (tcp: listening; udp: bound) on the
// port.
type Ready struct {
	Protocol string
	Port     int
}

// sockets are a control connection over TCP and data over a protocol. A control port of 0 stands for none.
func sockets(control int, protocol string, data int) []host.Socket {
	if control == 0 || protocol == experiment.TCP && control == data {
		return []host.Socket{{Protocol: protocol, Port: data}}
	}
	return []host.Socket{{Protocol: experiment.TCP, Port: control}, {Protocol: protocol, Port: data}}
}

// Output is what one execution left.
type Output struct {
	// Workload is the workload that was run; nil for an output recorded elsewhere.
	Workload *experiment.Workload
	// Stdout and Stderr are the client's. All of a file recorded elsewhere is in Stdout.
	Stdout, Stderr []byte
	// ServerStdout and ServerStderr are the server's.
	ServerStdout, ServerStderr []byte
	// ExitCode is the client's; 0 for an output recorded elsewhere.
	ExitCode int
	// Ran is how long the client ran, by the clock of its host; 0 if that is not known.
	Ran time.Duration
}

// Probe says how to find out whether a tool is on a host, and in which version.
type Probe struct {
	// Programs must all be on the host's PATH.
	Programs []string
	// Argv prints the version.
	Argv []string
	// Version reads the version from the output (standard output and error together). It gives "" if there is none.
	Version func(printed []byte) string
}
