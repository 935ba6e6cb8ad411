// Package host says what a host is: a machine, pod or namespace in which processes can be started.
//
// Each kind of host is a package of its own below this one, and joins the conformance suite in hosttest.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strings"
	"time"
)

// Self stands as the first word of a command line for this program itself, whatever it is called on the host.
const Self = "nearfar"

// A Host is a machine, pod or namespace in which processes can be started.
//
// Every call returns within a time that the kind of host bounds, whatever happens to the host. A host that is gone, or that did not
// answer within that time, is lost: this call, every later one and Wait of its processes return an error that wraps ErrLost.
type Host interface {
	// Start starts a process. When ctx ends, the process and all that it started are killed.
	// An error says which host and which command.
	Start(ctx context.Context, c Cmd) (Process, error)
	// Put writes a file on the host, with its parents, whole or not at all.
	Put(ctx context.Context, path string, mode fs.FileMode, r io.Reader) error
	// Endpoint gives the name and the address under which others reach the host.
	Endpoint() Endpoint
	// Close ends all processes of the host and frees what it holds. It may be called twice, and of a lost host too.
	Close() error
}

// Endpoint is where a host is reached by the other.
type Endpoint struct {
	// Name names the host in messages: "vxlan/server".
	Name string
	// Address is that of the data plane. Of a host that has both IPv4 and IPv6 it is that of IPv4.
	Address netip.Addr
	// Address6 is the IPv6 address of the data plane; the zero value where the host has none beside Address.
	Address6 netip.Addr
}

// AddressOf gives the address of an IP version: 4, 6, or 0 for whichever the host is known by.
func (e Endpoint) AddressOf(version int) (netip.Addr, error) {
	switch {
	case version == 0, version == 4 && e.Address.Is4(), version == 6 && e.Address.Is6():
		return e.Address, nil
	case version == 6 && e.Address6.Is6():
		return e.Address6, nil
	}
	return netip.Addr{}, fmt.Errorf("%s has no IPv%d address", e.Name, version)
}

// Cmd is a process to be started.
type Cmd struct {
	// Argv is the command line. Argv[0] is looked up on the host's PATH; Self is this program.
	Argv []string
	// Env is added to the host's environment, as KEY=value.
	Env []string
	// Stdin is what the process reads; then it sees the end of file. Secrets travel here, never in Argv.
	Stdin []byte
	// CPUs are those that the process may run on; empty for any.
	CPUs []int
	// Stdout and Stderr receive what the process prints; nil discards it. They may be the same writer only if it is
	// safe for concurrent use.
	Stdout, Stderr io.Writer
}

// A Process is one that was started.
type Process interface {
	// Wait waits for the end and returns nil, an *ExitError, or the reason why the end is not known.
	// All output has been written when it returns. It may be called from several goroutines.
	Wait() error
	// Stop asks the process to end (SIGTERM), and kills it and all that it started after the grace time.
	// It returns when the process has ended. Stopping an ended process is no error.
	Stop(grace time.Duration) error
}

// ExitError says that a process ended other than with status 0.
type ExitError struct {
	// Code is the exit status; -1 when a signal ended it.
	Code int
	// Signal names the signal, or is empty.
	Signal string
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "ended by signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// ErrNotFound is wrapped by the error of Start where the host has no such program.
var ErrNotFound = errors.New("not installed")

// Error is a failure on a host: which host, which command, and the last that it printed.
type Error struct {
	Host string
	Argv []string
	// Output is the end of what the command printed, if it ran.
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
