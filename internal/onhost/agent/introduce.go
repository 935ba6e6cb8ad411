package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Introduction is the first line of standard input of `nearfar-agent serve` and `nearfar-agent --stdio`. It carries
// values that may not be on a command line, where others can read them. With --stdio, the bytes of the connection
// follow it.
type Introduction struct {
	// Session is the secret of the session.
	Session string `json:"session"`
	// Silence is how long the owner may be silent before the agent ends; 0 for DefaultSilence.
	Silence time.Duration `json:"silence_ns"`
	// MaxOutput is how much of each output stream is kept, in bytes; 0 for supervise.DefaultMaxOutput.
	MaxOutput int64 `json:"max_output,omitempty"`
	// Again says that the owner was connected before: if that agent is gone, the transport must not start another one.
	Again bool `json:"again,omitempty"`
	// Mark is a line that --stdio prints before the bytes of the connection, so that the owner can tell them from what
	// a login shell prints; empty for none.
	Mark string `json:"mark,omitempty"`
}

// maxIntroduction bounds the line, in bytes.
const maxIntroduction = 4 << 10

// Introduction is the first thing that a transport sends to the agent. ctx is the context with which the Dialer was
// called.
func (o Options) Introduction(ctx context.Context) Introduction {
	return Introduction{Session: o.Session, Silence: o.silence(), Again: Again(ctx)}
}

// WriteTo sends the line.
func (i Introduction) WriteTo(w io.Writer) (int64, error) {
	b, err := json.Marshal(i)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(append(b, '\n'))
	return int64(n), err
}

// WriteMark prints the mark, if there is one.
func (i Introduction) WriteMark(w io.Writer) error {
	if i.Mark == "" {
		return nil
	}
	_, err := fmt.Fprintln(w, i.Mark)
	return err
}

// ReadIntroduction reads the line, and no byte beyond it.
func ReadIntroduction(r io.Reader) (Introduction, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := r.Read(one)
		if n > 0 && one[0] == '\n' {
			break
		}
		line = append(line, one[:n]...)
		if err == nil && len(line) > maxIntroduction {
			err = errors.New("it is too long")
		}
		if err != nil {
			return Introduction{}, fmt.Errorf("reading the session from standard input: %w", cut(err))
		}
	}
	var i Introduction
	if err := json.Unmarshal(line, &i); err != nil {
		return Introduction{}, fmt.Errorf("the first line of standard input is no session: %w", err)
	}
	if i.Silence <= 0 {
		i.Silence = DefaultSilence
	}
	return i, checkSession(i.Session)
}

// sessionDigits is the length of a session's secret: 128 bits in hexadecimal.
const sessionDigits = 32

func checkSession(secret string) error {
	if len(secret) != sessionDigits {
		return fmt.Errorf("the secret of the session has %d characters: it must have %d", len(secret), sessionDigits)
	}
	return nil
}

type againKey struct{}

// Again says, to a Dialer, that the connection is not the first one: the agent runs already, or has ended permanently.
func Again(ctx context.Context) bool {
	again, _ := ctx.Value(againKey{}).(bool)
	return again
}

// NewSession draws the secret of a session.
func NewSession() string { return randomHex(sessionDigits / 2) }

// ErrGone is wrapped by a Dialer's error if the agent to which it was connected has ended. The agent is then lost at
// once.
var ErrGone = errors.New("the agent has ended, and with it what it ran")

// RefuseGone tells an owner that the agent to which it was connected has ended.
func RefuseGone(w io.Writer) error {
	return writeMessage(w, welcome{Protocol: protocolVersion, Error: ErrGone.Error()})
}
