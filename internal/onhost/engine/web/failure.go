package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"nearfar/internal/onhost/engine/wire"
)

// kind is the kind of a failed request.
type kind int

const (
	// connecting covers the look-up of the name.
	connecting kind = iota
	securing
	tooLate
	// closed is a connection that ended before the answer did.
	closed
	status
	// broken is an answer that is not HTTP, or not what was asked for.
	broken
	kinds
)

// String is the scope of the metric.
func (k kind) String() string {
	return [...]string{"connect", "tls", "timeout", "closed", "status", "protocol"}[k]
}

// failure is why a request has no good answer.
type failure struct {
	kind kind
	err  error
}

// Error says what happened.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap is what happened.
func (f *failure) Unwrap() error { return f.err }

// failed makes a failure of a kind. A time-out is of its own kind, wherever it happens.
func failed(k kind, doing string, err error) *failure {
	if timeout(err) {
		return &failure{tooLate, fmt.Errorf("%s: no end within the time-out", doing)}
	}
	return &failure{k, fmt.Errorf("%s: %w", doing, err)}
}

func timeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// say writes a failure into one line, without what is secret.
func say(err error, secrets []string) string {
	text := err.Error()
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "REDACTED")
		}
	}
	return wire.Printable(text)
}
