package ssh

import (
	"context"
	"io"
	"strings"
	"sync"

	"nearfar/internal/base/clean"
)

// A Terminal is where ssh asks for passwords, passphrases and host keys, for one host at a time. ssh itself reads and
// writes the terminal; this package never sees an answer.
type Terminal struct {
	// turn holds a token while no prompt is open.
	turn chan struct{}
	out  io.Writer
}

// NewTerminal returns the terminal of this process. out receives the messages of ssh while it asks.
func NewTerminal(out io.Writer) *Terminal {
	t := &Terminal{turn: make(chan struct{}, 1), out: out}
	t.turn <- struct{}{}
	return t
}

// ask calls f with the terminal while no other host uses it. It returns false without calling f if this process has no
// terminal, or runs in its background, or if ctx ends first.
func (t *Terminal) ask(ctx context.Context, f func(*tty)) bool {
	if t == nil {
		return false
	}
	select {
	case <-t.turn:
	case <-ctx.Done():
		return false
	}
	defer func() { t.turn <- struct{}{} }()
	tty, err := openTTY()
	if err != nil {
		return false
	}
	tty.out = t.out
	defer tty.close()
	f(tty)
	return true
}

// A tty is the terminal while one ssh uses it.
type tty struct {
	device
	out  io.Writer
	once sync.Once
}

// Write shows what ssh prints on standard error.
func (t *tty) Write(p []byte) (int, error) {
	// A failure to show it does not concern the connection.
	_, _ = io.WriteString(t.out, clean.Lines(strings.ReplaceAll(string(p), "\r", "")))
	return len(p), nil
}

// back returns the terminal to this process, in the state in which it was. It may be called twice.
func (t *tty) back() { t.once.Do(t.restore) }

func (t *tty) close() {
	t.back()
	t.device.close()
}
