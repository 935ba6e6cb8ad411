package ssh

import (
	"slices"
	"strings"

	"nearfar/internal/base/clean"
)

// A Cause is why a host could not be reached.
type Cause string

// Causes on the way to the host.
const (
	NoSSH       Cause = "no ssh"              // there is no ssh on this machine
	NoConfig    Cause = "no configuration"    // the configuration file cannot be read
	BadConfig   Cause = "bad configuration"   // ssh refuses its configuration, or the name
	UnknownName Cause = "unknown name"        // the name has no address
	Refused     Cause = "connection refused"  // nothing listens on the port
	TimedOut    Cause = "timed out"           // no answer
	Unreachable Cause = "unreachable"         // no route
	Closed      Cause = "connection closed"   // the other side ended the connection before it let the user in
	KeyChanged  Cause = "host key changed"    // the key differs from the one in known_hosts
	KeyUnknown  Cause = "host key unknown"    // known_hosts has no key of the host
	NoAlgorithm Cause = "no common algorithm" // ssh and sshd have no algorithm in common
	Denied      Cause = "permission denied"   // the host does not let the user in
	Interrupted Cause = "interrupted"         // the user ended ssh at its prompt
	Unexplained Cause = "ssh failed"          // anything else that ssh says
)

// Causes on the host.
const (
	NoShell  Cause = "no shell"          // the login shell does not run sh
	Windows  Cause = "windows"           // the login shell is of Windows
	NoAgent  Cause = "no agent"          // there is no agent for the system or architecture
	NoFolder Cause = "no folder"         // no folder can be written
	NoExec   Cause = "noexec"            // programs cannot be executed in the folder
	NoSpace  Cause = "no space"          // the agent does not fit
	BadCopy  Cause = "bad copy"          // the agent was damaged on its way
	NoStart  Cause = "agent not started" // the agent does not run on the host
	Sudo     Cause = "sudo"              // sudo -n does not run the agent
)

// needsAnswer says that ssh might get further if it could ask the user.
func (c Cause) needsAnswer() bool { return c == Denied || c == KeyUnknown }

// Error says why a host could not be reached.
type Error struct {
	// Name is what ssh was to connect to.
	Name  string
	Cause Cause
	// Detail explains the cause, and Advice says what to do; either may be empty. They hold no characters on which a
	// terminal acts.
	Detail, Advice string
	// Said are the last lines that ssh printed, safe for a terminal.
	Said []string
	// early says that the host had not begun to run the script.
	early bool
}

func (e *Error) Error() string { return "ssh " + clean.Line(e.Name) + ": " + e.reason() }

// reason is the error without the name.
func (e *Error) reason() string {
	s := e.Detail
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	if len(e.Said) > 0 {
		s += "; ssh says: " + strings.Join(e.Said, " / ")
	}
	return s
}

func (e *Error) addAdvice(text string) {
	if e.Advice != "" {
		e.Advice += "; "
	}
	e.Advice += text
}

// lastLines are the last lines that ssh printed, without lines that do not explain a failure.
func lastLines(s string) []string {
	var lines, weak []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		shown := clean.Line(clean.Cut(line, maxShown))
		switch {
		case line == "" || isNoise(line):
		case isWeak(line):
			weak = append(weak, shown)
		default:
			lines = append(lines, shown)
		}
	}
	if len(lines) == 0 {
		lines = weak
	}
	return slices.Clone(lines[max(0, len(lines)-mostLines):])
}

// Limits of a quotation of ssh's messages.
const (
	mostLines = 3
	maxShown  = 300
)

// isNoise says that a line of ssh does not help to explain a failure.
func isNoise(line string) bool {
	return strings.HasPrefix(line, "debug") || strings.HasPrefix(line, "Warning: Permanently added") ||
		strings.HasPrefix(line, "@@@@") || strings.HasPrefix(line, "** ")
}

// isWeak says that a line of ssh only repeats that the ssh of a jump host has failed.
func isWeak(line string) bool {
	return strings.HasSuffix(line, "UNKNOWN port 65535") || line == "stdio forwarding failed" ||
		strings.HasPrefix(line, "kex_exchange_identification: Connection closed")
}
