// Package wire is the protocol between a client and a server of the engine: the parameters of a session and their
// limits, the handshake, the frames of the control connection, and the header of datagrams. docs/wire-protocol.md
// describes it.
package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/onhost/engine/timing"
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
	// ModeHTTP is requests of HTTP, one after the other or at an offered rate.
	ModeHTTP = "http"
)

func modes() []string { return []string{ModeRR, ModeCRR, ModeStream, ModeMessages, ModeLoad, ModeHTTP} }

// The protocols.
const (
	TCP = "tcp"
	UDP = "udp"
)

// The limits of a session.
const (
	MaxMessage     = 16 << 20
	MaxDatagram    = 65507 // the largest UDP payload over IPv4
	MaxConnections = 1024
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
	// Connections is how many run side by side; 1 for rr and crr. A stream in both directions has as many in each
	// direction. For http it is how many requests are under way at once.
	Connections int `json:"connections"`
	// Direction and ZeroCopy are for stream, Flow is for messages, Options are for all modes.
	Direction string `json:"direction,omitempty"`
	ZeroCopy  bool   `json:"zerocopy,omitempty"`
	Flow
	Options
	// HTTP is for http.
	HTTP HTTP `json:"http,omitzero"`
	// Timestamps divides the round trips of rr into parts by the kernel's timestamps.
	Timestamps bool `json:"timestamps,omitempty"`
	// Loop is LoopGo or LoopAssembly; empty for the fastest one that both sides have (rr).
	Loop string `json:"loop,omitempty"`
	// Interval is the length of an interval of stream and messages; 0 for the engine's choice. On the wire it is in
	// nanoseconds.
	Interval time.Duration `json:"interval,omitempty"`
	// Warmup is discarded; Duration is the length of the window. On the wire they are in nanoseconds.
	Warmup   time.Duration `json:"warmup"`
	Duration time.Duration `json:"duration"`
}

// Validate checks the parameters. Its error says what would be right.
func (p Params) Validate() error {
	switch {
	case !slices.Contains(modes(), p.Mode):
		return fmt.Errorf("mode %q: the engine has %s", p.Mode, strings.Join(modes(), ", "))
	case p.Protocol != TCP && p.Protocol != UDP:
		return fmt.Errorf("protocol %q: the engine has %s and %s", p.Protocol, TCP, UDP)
	case p.Protocol == UDP && p.Mode != ModeRR && p.Mode != ModeMessages && p.Mode != ModeLoad:
		return fmt.Errorf("%s runs over %s only", p.Mode, TCP)
	case p.Duration <= 0 || p.Duration > timing.MaxDuration:
		return fmt.Errorf("duration %v: must be more than 0 and at most %v", p.Duration, timing.MaxDuration)
	case p.Warmup < 0 || p.Warmup > timing.MaxDuration:
		return fmt.Errorf("warm-up %v: must be from 0 to %v", p.Warmup, timing.MaxDuration)
	case p.Connections < 1 || p.Connections > MaxConnections:
		return fmt.Errorf("%d connections: must be from 1 to %d", p.Connections, MaxConnections)
	case !slices.Contains([]string{ModeStream, ModeLoad, ModeHTTP}, p.Mode) && p.Connections != 1:
		return fmt.Errorf("%s runs over one connection at a time, not %d", p.Mode, p.Connections)
	}
	for _, validate := range []func() error{p.validateInterval, p.validateStream, p.validateMessages, p.validateOptions,
		p.validateTimestamps, p.validateLoop, p.validateHTTP} {
		if err := validate(); err != nil {
			return err
		}
	}
	if p.Mode == ModeMessages {
		return nil
	}
	if p.Mode == ModeStream {
		if p.Message < 1 || p.Message > MaxMessage {
			return fmt.Errorf("message of %d bytes: must be from 1 to %d", p.Message, MaxMessage)
		}
		return nil
	}
	if p.Mode == ModeHTTP {
		return nil
	}
	smallest, largest := 1, MaxMessage
	if p.Protocol == UDP {
		smallest, largest = DatagramHeader, MaxDatagram
	}
	for _, m := range []struct {
		name string
		size int
	}{{"request", p.Request}, {"response", p.Response}} {
		if m.size < smallest || m.size > largest {
			return fmt.Errorf("%s of %d bytes: over %s it must be from %d to %d", m.name, m.size, p.Protocol, smallest,
				largest)
		}
	}
	if p.Protocol == UDP && p.Response > p.Request {
		return fmt.Errorf("response of %d bytes to a request of %d: over udp a response is never larger than its "+
			"request, so that the server amplifies nothing",
			p.Response, p.Request)
	}
	return nil
}

// Length is how long the measurement takes, warm-up and window together.
func (p Params) Length() time.Duration { return p.Warmup + p.Duration }
