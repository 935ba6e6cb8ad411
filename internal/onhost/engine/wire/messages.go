package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nearfar/internal/base/clean"
)

// A DatagramReport is how the server classified the requests of the window.
type DatagramReport struct {
	// Received counts different requests, OutOfOrder the ones among them that came after a later request.
	Received   int64 `json:"received"`
	OutOfOrder int64 `json:"out_of_order"`
	// Duplicates counts requests that had come before. They are not answered.
	Duplicates int64 `json:"duplicates"`
}

func (r DatagramReport) possible() bool {
	return r.Received >= 0 && r.OutOfOrder >= 0 && r.Duplicates >= 0 && r.OutOfOrder <= r.Received
}

// A Tally is what a receiver of messages has counted.
type Tally struct {
	// Received counts the messages of the session that arrived.
	Received int64 `json:"received"`
	// Sent is how many messages were sent in the same time, by their sequence numbers (UDP).
	Sent int64 `json:"sent"`
	// OutOfOrder counts messages that came after a later one, or twice (UDP).
	OutOfOrder int64 `json:"out_of_order"`
	// Foreign counts datagrams that do not belong to the session.
	Foreign int64 `json:"foreign"`
}

func (m Tally) sound() bool {
	return m.Received >= 0 && m.Sent >= 0 && m.OutOfOrder >= 0 && m.Foreign >= 0
}

// Plus adds two tallies.
func (m Tally) Plus(n Tally) Tally {
	return Tally{Received: m.Received + n.Received, Sent: m.Sent + n.Sent, OutOfOrder: m.OutOfOrder + n.OutOfOrder,
		Foreign: m.Foreign + n.Foreign}
}

// Minus subtracts a tally.
func (m Tally) Minus(n Tally) Tally {
	return Tally{Received: m.Received - n.Received, Sent: m.Sent - n.Sent, OutOfOrder: m.OutOfOrder - n.OutOfOrder,
		Foreign: m.Foreign - n.Foreign}
}

// Ready tells the client where to send the data.
type Ready struct {
	// Port is the data port, TCP or UDP.
	Port int `json:"port"`
	// Cookie is at the start of every TCP data connection of rr and stream, and of every datagram.
	Cookie []byte `json:"cookie"`
	// CPUs are the CPUs that the server may run on, and Machine names its kernel. A client on the same CPU of the same
	// machine must not take it from the server. Empty if not known.
	CPUs    string `json:"cpus,omitempty"`
	Machine string `json:"machine,omitempty"`
	// Loop is the loop that the server runs; empty for LoopGo.
	Loop string `json:"loop,omitempty"`
}

// An Interval is what the server received in one interval. Start and End are on its own clock, since the window
// began.
type Interval struct {
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
	Bytes int64         `json:"bytes"`
	// Messages is how many one-way messages arrived (messages).
	Messages int64 `json:"messages,omitempty"`
	// Retransmits counts since the window began; Window (bytes) and Smoothed are means over the connections. All three
	// are about the server's senders (stream).
	Retransmits int64         `json:"retransmits,omitempty"`
	Window      int64         `json:"congestion_window,omitempty"`
	Smoothed    time.Duration `json:"smoothed_rtt,omitempty"`
}

// Sound checks the limits of what a client accepts from a server.
func (i Interval) Sound() bool {
	return i.Start >= 0 && i.End > i.Start && i.Bytes >= 0 && i.Messages >= 0 && i.Retransmits >= 0 && i.Window >= 0 &&
		i.Smoothed >= 0
}

// Report is what the server measured.
type Report struct {
	Version string `json:"version"`
	// Transactions is how many were answered, warm-up included (rr, crr).
	Transactions int64 `json:"transactions"`
	// Bytes were received within the window, which was Window long on the server's clock (stream, messages).
	Bytes  int64         `json:"bytes"`
	Window time.Duration `json:"window"`
	// Retransmits is the count of the server's senders within the window, valid if Sampled (stream).
	Retransmits int64 `json:"retransmits,omitempty"`
	Sampled     bool  `json:"sampled,omitempty"`
	// Messages is the tally of the window (messages).
	Messages Tally `json:"messages,omitzero"`
	// Requests classifies the requests of the window (rr over UDP).
	Requests DatagramReport `json:"requests,omitzero"`
	// CPU is the CPU time of the process in the time Elapsed; Elapsed is 0 if it is not known.
	CPU     time.Duration `json:"cpu"`
	Elapsed time.Duration `json:"elapsed"`
	// Waited is how long the process's threads were runnable and waited for a CPU since they started; 0 if not known.
	Waited time.Duration     `json:"waited,omitempty"`
	Facts  map[string]string `json:"facts"`
}

// Check checks the limits of what a client accepts from a server.
func (r Report) Check() error {
	const mostFacts = 50
	if r.Transactions < 0 || r.Bytes < 0 || r.Window < 0 || r.CPU < 0 || r.Elapsed < 0 || r.Waited < 0 ||
		!r.Requests.possible() || len(r.Facts) > mostFacts ||
		r.Retransmits < 0 || !r.Messages.sound() {
		return errors.New("the server's report makes no sense")
	}
	return nil
}

// Failure says why a side gives up.
type Failure struct {
	Message string `json:"message"`
}

// DecodePayload reads a payload strictly: a parameter that this version does not know must not be ignored silently.
func DecodePayload(payload []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("reading a frame: %w", err)
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(payload, " \t\r\n"))) {
		return errors.New("reading a frame: something follows the value")
	}
	return nil
}

// PeerError is a failure that the other side reports.
type PeerError struct{ Message string }

// Error is the other side's message.
func (e *PeerError) Error() string { return e.Message }

// DecodeFailure reads the payload of a failure, and returns it as a *PeerError.
func DecodeFailure(payload []byte) error {
	var f Failure
	if err := DecodePayload(payload, &f); err != nil {
		return err
	}
	return &PeerError{Message: Printable(f.Message)}
}

// Printable makes one line of a text from the other side, limits its length, and escapes what a terminal would act
// on.
func Printable(s string) string {
	const most = 500 // characters
	return clean.Line(clean.Cut(s, most))
}
