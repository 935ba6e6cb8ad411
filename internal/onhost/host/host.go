// Package host defines a host: a machine, pod or namespace in which processes can be started.
//
// Each kind of host is a package below this one, and runs the conformance suite in hosttest.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// Self as the first word of a command line stands for this program itself, whatever its name on the host.
const Self = "nearfar"

// A Host is a machine, pod or namespace in which processes can be started.
//
// Every call returns within a time that the kind of host bounds, whatever happens to the host. A host that is gone, or
// that did not answer within that time, is lost: this call, all later ones and Wait of its processes return an error
// that wraps ErrLost.
type Host interface {
	// Start starts a process. When ctx ends, the process and all that it started are killed. The error is an *Error.
	Start(ctx context.Context, c Cmd) (Process, error)
	// Put writes a file on the host, whole or not at all, and makes its parent directories. A relative path is below
	// the folder for temporary files of the host's processes (os.TempDir).
	Put(ctx context.Context, path string, mode fs.FileMode, r io.Reader) error
	// Endpoint is the host as its own servers and the other side see it.
	Endpoint() Endpoint
	// Close ends all processes of the host and frees its resources. It may be called twice, and on a lost host.
	Close() error
}

// Cmd describes a process to start.
type Cmd struct {
	// Argv is the command line. Argv[0] is looked up on the host's PATH; Self is this program.
	Argv []string
	// Env is added to the host's environment, as KEY=value.
	Env []string
	// Stdin is the standard input of the process. Secrets belong here, never in Argv, which other users can read.
	Stdin []byte
	// CPUs are the CPUs that the process may run on; empty for any.
	CPUs []int
	// Stdout and Stderr receive what the process prints; nil discards it. They may be the same writer if that is safe
	// for concurrent use.
	Stdout, Stderr io.Writer
	// Serves is the socket for which the caller will wait (Process.Serves), so that a host that is far away is asked
	// together with the start; the zero value for none.
	Serves Socket
	// After is a process of the same host that is being ended: this one starts when that one, and all that it started,
	// have ended. nil for none. Only hosts whose Machines allow it (Machines.Ahead) take it.
	After Process
}

// A Process is a process that was started on a host.
type Process interface {
	// Wait waits for the end of the process. It returns nil for exit status 0, an *ExitError for another end, or the
	// reason why the end is not known. All output has been written when it returns. It may be called from several
	// goroutines.
	Wait() error
	// Serves waits until this process, or one that it started, holds a socket of the protocol (tcp: listening; udp:
	// bound) on the port. It sends nothing, because some servers would take a connection for their client's. If the
	// process ends before, the error wraps ErrEnded; if another process holds the port, it is a *PortTakenError.
	Serves(ctx context.Context, protocol string, port int) error
	// Times are when the process started and ended, by the clock of the host; the zero value as long as that is not
	// known. Both are known when Wait has returned, unless the host is lost.
	Times() (started, ended time.Time)
	// Stop sends SIGTERM to the process, kills it and all that it started after the grace time, and returns when the
	// process has ended. Stopping an ended process is no error.
	Stop(grace time.Duration) error
}

// ExitError says that a process ended with another status than 0, or by a signal.
type ExitError struct {
	// Code is the exit status; -1 if a signal ended the process.
	Code int
	// Signal is the name of that signal; otherwise empty.
	Signal string
	// OutOfMemory says that the host's kernel killed it because memory was short, as far as that is known.
	OutOfMemory bool
}

func (e *ExitError) Error() string {
	switch {
	case e.OutOfMemory:
		return "killed: out of memory (the memory of its control group or of its machine was used up)"
	case e.Signal != "":
		return "ended by signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ErrNotFound is wrapped by Start's error if the host has no such program.
var ErrNotFound = errors.New("not installed")

// Error is a failure on a host, with the host, the command and the end of its output.
type Error struct {
	Host string
	Argv []string
	// Output is the end of what the command printed.
	Output string
	Err    error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %v", e.Host, strings.Join(e.Argv, " "), e.Err)
	if out := strings.TrimSpace(e.Output); out != "" {
		s += "; its last output: " + out
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }
