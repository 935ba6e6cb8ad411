// Package web sends requests of HTTP and measures when the answers come: to a server of its own, in a session, or to
// any server whose URL is given. It is made of Go's net/http.
//
// HTTP/1.1 has a connection for each worker, on which the worker itself writes and reads: no other goroutine takes part
// in a request. HTTP/2 has one connection for all workers, or one for each request.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// The limits of what a server can send.
const (
	maxHeader = 64 << 10
	maxBody   = 1 << 30
	// maxInformed is how many answers of the kind 1xx may come before the answer.
	maxInformed = 5
)

const (
	// usualTimeout is how long one request may take.
	usualTimeout = 10 * time.Second
	// drainTime is how long requests that were due in the window may take after it, with an offered rate.
	drainTime = 5 * time.Second
)

// Options say what to ask for, and how.
type Options struct {
	// URL is what is asked for. Its host may be a name.
	URL *url.URL
	// IP is the version of IP, 4 or 6; 0 for any.
	IP int
	// HTTP says how requests travel. Its TLS must fit the URL.
	HTTP wire.HTTP
	// TLS is how the server is recognised, and how this side identifies itself. It is used for https.
	TLS *tls.Config
	// Header are more headers of each request.
	Header http.Header
	// Secrets are texts that get into no message.
	Secrets []string
	// Concurrency is how many requests are under way at once.
	Concurrency int
	// Request is the size of a request's body in bytes: a POST; 0 is a GET. Response is the size that an answer's body
	// must have; 0 for any.
	Request, Response int
	// Schedule says when requests are due. Without steps each worker sends its next request when it has the answer to
	// the last one.
	Schedule timing.Schedule
	// Warmup is discarded. Duration is the length of the window.
	Warmup, Duration time.Duration
	// Timeout is how long one request may take; 0 for 10 s.
	Timeout time.Duration
	// Window is called when the window opens and when it has closed, for counts of the server; nil for nobody.
	Window func(ctx context.Context, opens bool) error
}

// open says that requests are due at times that do not depend on the answers.
func (o Options) open() bool { return len(o.Schedule.Steps) > 0 }

// Validate checks the options. Its error says what would be right.
func (o Options) Validate() error {
	if err := CheckURL(o.URL); err != nil {
		return err
	}
	if o.open() {
		if err := o.Schedule.Validate(); err != nil {
			return err
		}
	}
	switch {
	case o.HTTP.Version != wire.HTTP1 && o.HTTP.Version != wire.HTTP2:
		return fmt.Errorf("version %d of HTTP: there are 1.1 and 2", o.HTTP.Version)
	case o.Concurrency < 1 || o.Concurrency > wire.MaxConnections:
		return fmt.Errorf("%d requests at once: must be from 1 to %d", o.Concurrency, wire.MaxConnections)
	case o.Request < 0 || o.Request > wire.MaxMessage:
		return fmt.Errorf("request of %d bytes: must be from 0 (a GET without a body) to %d", o.Request,
			wire.MaxMessage)
	case o.Duration <= 0 || o.Duration > timing.MaxDuration:
		return fmt.Errorf("duration %v: must be more than 0 and at most %v", o.Duration, timing.MaxDuration)
	case o.Warmup < 0 || o.Warmup > timing.MaxDuration:
		return fmt.Errorf("warm-up %v: must be from 0 to %v", o.Warmup, timing.MaxDuration)
	}
	return CheckHeader(o.Header)
}

// CheckURL says why a URL cannot be measured.
func CheckURL(u *url.URL) error {
	switch {
	case u == nil || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("a URL begins with http:// or https://")
	case u.Hostname() == "":
		return errors.New("the URL names no host")
	case u.User != nil:
		return errors.New("a URL with a user or a password would be in command lines and records: give an Authorization " +
			"header by the environment")
	case u.Fragment != "":
		return errors.New("the part of a URL behind # is not sent to a server: leave it out")
	}
	return nil
}

// mostHeaders limits the headers of a request.
const mostHeaders = 32

// CheckHeader says why headers cannot be sent. It names no values, for they may be secret.
func CheckHeader(h http.Header) error {
	if len(h) > mostHeaders {
		return fmt.Errorf("%d headers: at most %d", len(h), mostHeaders)
	}
	for name, values := range h {
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isToken(r) }):
			return fmt.Errorf("%.100q is no name of a header", name)
		case ownHeader(name):
			return fmt.Errorf("the header %s is set by nearfar", name)
		}
		for _, value := range values {
			if len(value) > 8<<10 || strings.ContainsFunc(value, isControl) {
				return fmt.Errorf("the value of the header %s is longer than 8 KiB, or has control characters", name)
			}
		}
	}
	return nil
}

// ownHeader says that a header is set by the request itself. Host is settable: it names a site behind an address.
func ownHeader(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer", "Expect":
		return true
	}
	return false
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// isToken says that a character may stand in the name of a header (RFC 9110, token).
func isToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
