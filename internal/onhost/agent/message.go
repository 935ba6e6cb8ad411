package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
	"nearfar/internal/onhost/supervise"
)

// protocolVersion is the version of everything that both sides exchange. Sides with different versions do not work
// together.
const protocolVersion = 3

// hello is the first message of a connection, from the owner. It is not a call, because yamux does not run yet.
type hello struct {
	Protocol int    `json:"protocol"`
	Session  string `json:"session"`
	// Owner identifies this owner: an agent has one owner, and refuses others that know the secret.
	Owner string `json:"owner"`
	// Silence is how long the owner may be silent, in nanoseconds.
	Silence time.Duration `json:"silence"`
	// Instance is the agent to which the owner was connected before; empty for the first connection.
	Instance string `json:"instance,omitempty"`
}

// welcome is the agent's answer.
type welcome struct {
	Protocol int    `json:"protocol"`
	Instance string `json:"instance,omitempty"`
	Error    string `json:"error,omitempty"`
	// Other says that the owner has met another agent than before.
	Other bool `json:"other,omitempty"`
}

// The calls. Each has a stream of its own: a request, its body (start and put), a reply, and its body (read). Each can
// be repeated, also if the first one was carried out.
const (
	callFacts   = "facts"   // what the agent knows of its machine
	callStart   = "start"   // start a process; the body is its standard input
	callWait    = "wait"    // wait for the end of a process
	callRead    = "read"    // output of a process from an offset, as it grows, until its end; then a second reply
	callStop    = "stop"    // ask a process to end, and kill it and all that it started after a time
	callKill    = "kill"    // kill a process and all that it started; answered when they are gone
	callForget  = "forget"  // free what is kept of a process
	callPut     = "put"     // write the body to a file
	callServes  = "serves"  // wait until a process serves on a port
	callObserve = "observe" // who has used the CPUs so far, and what the kernel has counted
	callClock   = "clock"   // what the agent's clock shows
	callLoad    = "load"    // how busy the machine is
	callClose   = "close"   // end the agent; answered when all that it started and put is gone
	callRelease = "release" // as close, but the agent then waits for another owner
)

type request struct {
	Call string `json:"call"`
	Key  string `json:"key,omitempty"`
	// Early says that the start of the process may still be on the way. The call waits for it.
	Early bool `json:"early,omitempty"`
	// After is the key of an observation that comes before the start, or before this observation.
	After string `json:"after,omitempty"`
	// Ended is the key of a process: it is observed when the process has ended, or another one is started when the
	// process and all that it started have ended.
	Ended string `json:"ended,omitempty"`
	// Grace is how long a process may take to end, in nanoseconds.
	Grace time.Duration `json:"grace,omitempty"`
	// Wire is what callWireBegin watches.
	Wire *WireWatch `json:"wire,omitempty"`
	// Argv, Env and Path are bytes, because JSON's strings cannot hold all that a system's strings can.
	Argv    [][]byte `json:"argv,omitempty"`
	Env     [][]byte `json:"env,omitempty"`
	CPUs    []int    `json:"cpus,omitempty"`
	Discard [2]bool  `json:"discard,omitzero"`
	Stream  int      `json:"stream,omitempty"`
	Offset  int64    `json:"offset,omitempty"`
	Path    []byte   `json:"path,omitempty"`
	Mode    uint32   `json:"mode,omitempty"`
	// Size is the length of the body, in bytes.
	Size     int64  `json:"size,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Port     int    `json:"port,omitempty"`
	// Ports are what callReserve reserves.
	Ports []int `json:"ports,omitempty"`
	// To is the address of the other side, for the counters of the devices on the path to it; the zero value for none.
	To netip.Addr `json:"to,omitzero"`
}

type reply struct {
	// Error is why the call failed; Kind says which error it is.
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`

	// Wire is how a trial's packets were carried.
	Wire *check.Wire `json:"wire,omitempty"`

	// Taken is a part of the error of callServes.
	Taken *host.PortTakenError `json:"taken,omitempty"`

	// Started and Ended are when a process started and ended, by the agent's clock.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`

	Code     int               `json:"code,omitempty"`
	Signal   string            `json:"signal,omitempty"`
	OOM      bool              `json:"oom,omitempty"`
	Output   *supervise.Output `json:"output,omitempty"`
	Facts    *Facts            `json:"facts,omitempty"`
	Observed *observed         `json:"observed,omitempty"`
	Load     *machine.Load     `json:"load,omitempty"`
	// Now is what the agent's clock shows.
	Now time.Time `json:"now,omitzero"`
}

// The kinds of errors.
const (
	kindNotFound = "not-found" // host.ErrNotFound
	kindEnded    = "ended"     // host.ErrEnded
	kindEnding   = "ending"    // the agent is ending
	kindGone     = "forgotten" // supervise.ErrForgotten
	kindReserved = "reserved"  // ErrReserved
	kindUnknown  = "unknown"   // errUnknownCall
)

// errUnknownCall says that the agent does not know a call: it is older than its owner.
var errUnknownCall = errors.New("an unknown call")

// errEnding says that the agent is ending: no call is possible any more.
var errEnding = errors.New("the agent is ending")

// kinds are the errors that the owner can distinguish.
func kinds() map[string]error {
	return map[string]error{
		kindNotFound: host.ErrNotFound, kindEnded: host.ErrEnded, kindEnding: errEnding,
		kindGone: supervise.ErrForgotten, kindReserved: ErrReserved, kindUnknown: errUnknownCall,
	}
}

// failure makes a reply of an error.
func failure(err error) reply {
	r := reply{Error: err.Error()}
	for kind, of := range kinds() {
		if errors.Is(err, of) {
			r.Kind = kind
		}
	}
	errors.As(err, &r.Taken)
	return r
}

// remoteError is an error that the agent reported.
type remoteError struct {
	message string
	is      []error
}

func (e *remoteError) Error() string   { return e.message }
func (e *remoteError) Unwrap() []error { return e.is }

// err is the error of a reply.
func (r reply) err() error {
	if r.Error == "" {
		return nil
	}
	e := &remoteError{message: clean.Cut(r.Error, maxText)}
	if of := kinds()[r.Kind]; of != nil {
		e.is = append(e.is, of)
	}
	if r.Taken != nil {
		e.is = append(e.is, r.Taken)
	}
	return e
}

// hasBody says whether a body follows the request.
func (q *request) hasBody() bool { return q.Call == callStart || q.Call == callPut }

// check refuses requests that no owner sends.
func (q *request) check() error {
	for _, key := range []string{q.Key, q.After, q.Ended} {
		if len(key) > 64 {
			return fmt.Errorf("%w: a key of %d bytes", errProtocol, len(key))
		}
	}
	if q.Size < 0 || q.Call == callStart && q.Size > maxStdin || q.Size > maxPut {
		return fmt.Errorf("%w: a body of %d bytes", errProtocol, q.Size)
	}
	return nil
}

const (
	// maxStdin bounds the standard input of a process, maxPut a file, in bytes.
	maxStdin = 16 << 20
	maxPut   = 256 << 20
)
