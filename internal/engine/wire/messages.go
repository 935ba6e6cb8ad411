package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nearfar/internal/clean"
)

// A DatagramReport is what the server counted of the requests of the window.
type DatagramReport struct {
	// Received are different requests; OutOfOrder those of them that came after a later one.
	Received   int64 `json:"received"`
	OutOfOrder int64 `json:"out_of_order"`
	// Duplicates are requests that had come before. They are not answered.
	Duplicates int64 `json:"duplicates"`
}

func (r DatagramReport) possible() bool {
	return r.Received >= 0 && r.OutOfOrder >= 0 && r.Duplicates >= 0 && r.OutOfOrder <= r.Received
}

// Tally is what a receiver has seen.
type Tally struct {
	// Received are the messages of the session that came.
	Received int64 `json:"received"`
	// Sent is how many were sent meanwhile, as the sequence numbers tell (UDP).
	Sent int64 `json:"sent"`
	// OutOfOrder came after one that was sent later, or twice (UDP).
	OutOfOrder int64 `json:"out_of_order"`
	// Foreign datagrams are not of this session.
	Foreign int64 `json:"foreign"`
}

func (m Tally) sound() bool {
	return m.Received >= 0 && m.Sent >= 0 && m.OutOfOrder >= 0 && m.Foreign >= 0
}

func (m Tally) Plus(n Tally) Tally {
	return Tally{Received: m.Received + n.Received, Sent: m.Sent + n.Sent, OutOfOrder: m.OutOfOrder + n.OutOfOrder, Foreign: m.Foreign + n.Foreign}
}

func (m Tally) Minus(n Tally) Tally {
	return Tally{Received: m.Received - n.Received, Sent: m.Sent - n.Sent, OutOfOrder: m.OutOfOrder - n.OutOfOrder, Foreign: m.Foreign - n.Foreign}
}

// Ready says where the data goes.
type Ready struct {
	// Port is the data port, TCP or UDP.
	Port int `json:"port"`
	// Cookie starts every TCP data connection of rr and stream, and every datagram.
	Cookie []byte `json:"cookie"`
	// CPUs are those that the server may run on, and Machine names its kernel: a client that shares both must not take the
	// CPU from the server. Empty where they are not known.
	CPUs    string `json:"cpus,omitempty"`
	Machine string `json:"machine,omitempty"`
	// Loop is the loop that the server runs; empty for the one in Go.
	Loop string `json:"loop,omitempty"`
}

// Interval is what the server received from the start to the end of one interval, on its own clock since the
// beginning of the window.
type Interval struct {
	Start time.Duration `json:"start"`
	End   time.Duration `json:"end"`
	Bytes int64         `json:"bytes"`
	// Messages is how many one-way messages came (messages).
	Messages int64 `json:"messages,omitempty"`
	// Retransmits counts since the beginning of the window, Window (bytes) and Smoothed are the means of the connections;
	// of the server's senders (stream).
	Retransmits int64         `json:"retransmits,omitempty"`
	Window      int64         `json:"congestion_window,omitempty"`
	Smoothed    time.Duration `json:"smoothed_rtt,omitempty"`
}

// Sound bounds what a server can make a client believe.
func (i Interval) Sound() bool {
	return i.Start >= 0 && i.End > i.Start && i.Bytes >= 0 && i.Messages >= 0 && i.Retransmits >= 0 && i.Window >= 0 && i.Smoothed >= 0
}

// Report is what the server saw.
type Report struct {
	Version string `json:"version"`
	// Transactions that were answered, warm-up included (rr, crr).
	Transactions int64 `json:"transactions"`
	// Bytes received within the window, which was Window long on the server's clock (stream, messages).
	Bytes  int64         `json:"bytes"`
	Window time.Duration `json:"window"`
	// Retransmits of the server's senders within the window, where they could be Sampled (stream).
	Retransmits int64 `json:"retransmits,omitempty"`
	Sampled     bool  `json:"sampled,omitempty"`
	// Messages are what came of one-way messages within the window (messages).
	Messages Tally `json:"messages,omitzero"`
	// Requests are what came of the requests of the window (rr over UDP).
	Requests DatagramReport `json:"requests,omitzero"`
	// CPU time of the process over Elapsed; Elapsed is 0 where it is not known.
	CPU     time.Duration `json:"cpu"`
	Elapsed time.Duration `json:"elapsed"`
	// Waited is how long the process's threads could have run and waited for a CPU since its start; 0 where it is not known.
	Waited time.Duration     `json:"waited,omitempty"`
	Facts  map[string]string `json:"facts"`
}

// Check bounds what a server can make a client believe.
func (r Report) Check() error {
	const mostFacts = 50
	if r.Transactions < 0 || r.Bytes < 0 || r.Window < 0 || r.CPU < 0 || r.Elapsed < 0 || r.Waited < 0 || !r.Requests.possible() || len(r.Facts) > mostFacts ||
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

func (e *PeerError) Error() string { return e.Message }

func DecodeFailure(payload []byte) error {
	var f Failure
	if err := DecodePayload(payload, &f); err != nil {
		return err
	}
	return &PeerError{Message: Printable(f.Message)}
}

// Printable is a text of the other side as one line of a message, bounded.
func Printable(s string) string {
	const most = 500 // characters
	return clean.Line(clean.Cut(s, most))
}
