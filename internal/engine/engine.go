// Package engine is the native engine: it measures request/response, connect/request/response and bulk streams between
// two processes that speak the protocol of docs/wire-protocol.md.
//
// The hot loops (rr.go, rrudp.go, crr.go, stream.go, loader.go) run on locked operating-system threads and block in the kernel as a C
// program would. Everything that depends on the operating system is in sys_linux.go and sys_other.go.
package engine

import (
	"fmt"
	"time"
)

// The modes.
const (
	ModeRR     = "rr"
	ModeCRR    = "crr"
	ModeStream = "stream"
	// ModeMessages is one-way messages, counted where they arrive.
	ModeMessages = "messages"
	// ModeLoad is requests at an offered rate, whatever the replies do.
	ModeLoad = "load"
)

// The protocols.
const (
	TCP = "tcp"
	UDP = "udp"
)

// The bounds of what a session may ask for.
const (
	maxMessage     = 16 << 20
	maxDatagram    = 65507 // the largest UDP payload over IPv4
	maxConnections = 1024
	maxDuration    = 24 * time.Hour
)

// Params are what client and server agree on for one session. They travel in the setup message.
type Params struct {
	Mode     string `json:"mode"`
	Protocol string `json:"protocol"`
	// Request and Response are application message sizes in bytes (rr, crr, load).
	Request  int `json:"request,omitempty"`
	Response int `json:"response,omitempty"`
	// Message is the size of one write in bytes (stream).
	Message int `json:"message,omitempty"`
	// Connections run side by side; 1 for rr and crr. A stream in both directions has as many each way.
	Connections int `json:"connections"`
	// Direction and ZeroCopy are of stream, Flow of messages, Options of every mode.
	Direction string `json:"direction,omitempty"`
	ZeroCopy  bool   `json:"zerocopy,omitempty"`
	Flow
	Options
	// Timestamps divides the round trips of rr by the kernel's timestamps.
	Timestamps bool `json:"timestamps,omitempty"`
	// Interval is the length of an interval of stream and messages; 0 is the engine's choice. In nanoseconds on the wire.
	Interval time.Duration `json:"interval,omitempty"`
	// Warmup is discarded; Duration is the length of the measurement window. In nanoseconds on the wire.
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
}

// Validate says what of the parameters cannot be, and what would be right.
func (p Params) Validate() error {
	switch {
	case p.Mode != ModeRR && p.Mode != ModeCRR && p.Mode != ModeStream && p.Mode != ModeMessages && p.Mode != ModeLoad:
		return fmt.Errorf("mode %q: the engine has %s, %s, %s, %s and %s", p.Mode, ModeRR, ModeCRR, ModeStream, ModeMessages, ModeLoad)
	case p.Protocol != TCP && p.Protocol != UDP:
		return fmt.Errorf("protocol %q: the engine has %s and %s", p.Protocol, TCP, UDP)
	case p.Protocol == UDP && p.Mode != ModeRR && p.Mode != ModeMessages && p.Mode != ModeLoad:
		return fmt.Errorf("%s runs over %s only", p.Mode, TCP)
	case p.Duration <= 0 || p.Duration > maxDuration:
		return fmt.Errorf("duration %v: must be more than 0 and at most %v", p.Duration, maxDuration)
	case p.Warmup < 0 || p.Warmup > maxDuration:
		return fmt.Errorf("warm-up %v: must be from 0 to %v", p.Warmup, maxDuration)
	case p.Connections < 1 || p.Connections > maxConnections:
		return fmt.Errorf("%d connections: must be from 1 to %d", p.Connections, maxConnections)
	case p.Mode != ModeStream && p.Mode != ModeLoad && p.Connections != 1:
		return fmt.Errorf("%s runs over one connection at a time, not %d", p.Mode, p.Connections)
	}
	for _, validate := range []func() error{p.validateInterval, p.validateStream, p.validateMessages, p.validateOptions, p.validateTimestamps} {
		if err := validate(); err != nil {
			return err
		}
	}
	if p.Mode == ModeMessages {
		return nil
	}
	if p.Mode == ModeStream {
		if p.Message < 1 || p.Message > maxMessage {
			return fmt.Errorf("message of %d bytes: must be from 1 to %d", p.Message, maxMessage)
		}
		return nil
	}
	smallest, largest := 1, maxMessage
	if p.Protocol == UDP {
		smallest, largest = datagramHeader, maxDatagram
	}
	for _, m := range []struct {
		name string
		size int
	}{{"request", p.Request}, {"response", p.Response}} {
		if m.size < smallest || m.size > largest {
			return fmt.Errorf("%s of %d bytes: over %s it must be from %d to %d", m.name, m.size, p.Protocol, smallest, largest)
		}
	}
	if p.Protocol == UDP && p.Response > p.Request {
		return fmt.Errorf("response of %d bytes to a request of %d: over udp a response is never larger than its request, so that the server amplifies nothing",
			p.Response, p.Request)
	}
	return nil
}

// length is how long the measuring takes, from the start to the end of the window.
func (p Params) length() time.Duration { return p.Warmup + p.Duration }
