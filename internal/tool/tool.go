// Package tool knows the measuring programs: how each is run, and what its output means.
//
// A tool plans command lines and reads what they printed; it never runs anything. Adding one is a file here, a name in
// the list of programs (registry.go), and recorded outputs under testdata/<tool>/<version>/.
package tool

import (
	"fmt"
	"net/netip"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
)

// A Tool is a measuring program.
type Tool interface {
	// Name is what an experiment file calls it.
	Name() string
	// Plan gives the command lines of one trial. An error says what the tool cannot do of what the workload asks.
	Plan(w experiment.Workload, server host.Endpoint) (Plan, error)
	// Parse reads what the client (and the server, where it matters) printed. A run that failed gives a reasoned error,
	// together with what is still true of it: a Measurement may be returned beside an error.
	Parse(out Output) (result.Measurement, error)
	// Probe gives the command that prints the version on the client's side, and the programs that must be there.
	Probe() Probe
}

// A Companion is a tool that can run beside the workload of another tool, or of its own: as its background.
type Companion interface {
	// PlanBackground gives the command lines of a background, on ports that no workload uses. The client goes on for as
	// long as said, unless it is ended before.
	PlanBackground(w experiment.Workload, server host.Endpoint, longest time.Duration) (Plan, error)
	// Flowing says whether what the client has printed so far shows that its data arrives.
	Flowing(stdout []byte) bool
	// ParseBackground gives the figures of the time in which the workload ran: that is when the client printed
	// Stdout[from:until]. What it printed when it was ended says nothing.
	ParseBackground(out Output, from, until int) (result.Measurement, error)
}

// Plan is what one trial of a workload runs.
type Plan struct {
	// Server is run on the server's host before the client; nil where the tool needs none.
	Server *Command
	// Ready says how to know that the server serves; used only where Server is not nil.
	Ready Ready
	// Client is run on the client's host, and its end is the end of the trial.
	Client Command
	// Expected is how long the client runs: warm-up, window and the tool's own overhead.
	Expected time.Duration
}

// Command is one process of a plan.
type Command struct {
	Argv []string
	Env  []string
	// Stdin is what the process reads; secrets travel here.
	Stdin []byte
}

// Ready says how to know that a server serves: that it holds a socket of the protocol (tcp: listening; udp: bound)
// on the port.
type Ready struct {
	Protocol string
	Port     int
}

// Output is what one execution left.
type Output struct {
	// Workload is what was asked for; nil for an output recorded elsewhere.
	Workload *experiment.Workload
	// Stdout and Stderr are the client's. For a file recorded elsewhere all is in Stdout.
	Stdout, Stderr []byte
	// ServerStdout and ServerStderr are the server's.
	ServerStdout, ServerStderr []byte
	// ExitCode is the client's; 0 for an output recorded elsewhere.
	ExitCode int
}

// addressFor gives the server's address of the version of IP that the workload is carried by.
func addressFor(w experiment.Workload, server host.Endpoint) (netip.Addr, error) {
	a, err := server.AddressOf(w.IP)
	if err != nil {
		return a, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return a, nil
}

// Probe is how to find out whether and in which version a tool is on a host.
type Probe struct {
	// Programs must all be on the host's PATH.
	Programs []string
	// Argv prints the version.
	Argv []string
	// Version reads it from what was printed (standard output and error together); "" where it is not there.
	Version func(printed []byte) string
}
