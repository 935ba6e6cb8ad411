package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/timing"
)

// protocol2 is the name of HTTP/2 in TLS (RFC 9113).
const protocol2 = "h2"

// shared is a connection of HTTP/2 for several workers, or for one if each request has its own.
type shared struct {
	transport *http.Transport
	dialer    *dialer
	scheme    string

	mu   sync.Mutex
	conn *http.ClientConn
	// dialing are the phases of the request that opens a connection.
	dialing  *phases
	deadline time.Time
}

func newShared(o *Options, d *dialer) *shared {
	s := &shared{dialer: d, scheme: o.URL.Scheme}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := d.dial(ctx, s.deadline, s.dialing)
		if err != nil {
			return nil, err
		}
		if secure, ok := conn.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol != protocol2 {
			_ = conn.Close()
			return nil, &failure{broken, errors.New("the server does not speak HTTP/2")}
		}
		return conn, nil
	}
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.transport = &http.Transport{Protocols: &protocols, DialContext: dial, DialTLSContext: dial,
		MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		HTTP2: &http.HTTP2Config{StrictMaxConcurrentRequests: true}}
	return s
}

// get gives the connection, and opens it if there is none that can be used.
func (s *shared) get(ctx context.Context, deadline time.Time, p *phases) (*http.ClientConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn.Err() == nil {
		return s.conn, nil
	}
	s.dialing, s.deadline = p, deadline
	conn, err := s.transport.NewClientConn(ctx, s.scheme, net.JoinHostPort(s.dialer.host, s.dialer.port))
	if err != nil {
		return nil, err
	}
	s.conn = conn
	return conn, nil
}

func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
	s.transport.CloseIdleConnections()
}

// overHTTP2 exchanges over a connection that it may share.
type overHTTP2 struct {
	shared     *shared
	request    *http.Request
	body       []byte
	response   int
	perRequest bool
	trace      *httptrace.ClientTrace
	first      atomic.Int64
}

func newOverHTTP2(o *Options, s *shared, template *http.Request) *overHTTP2 {
	c := &overHTTP2{shared: s, request: template, response: o.Response, perRequest: o.HTTP.PerRequest}
	if o.Request > 0 {
		c.body = make([]byte, o.Request)
	}
	c.trace = &httptrace.ClientTrace{GotFirstResponseByte: func() { c.first.Store(timing.Now()) }}
	return c
}

func (c *overHTTP2) exchange(ctx context.Context, deadline time.Time, p *phases) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := c.shared.get(ctx, deadline, p)
	if err != nil {
		return c.asFailure(connecting, "connecting", err)
	}
	if c.perRequest {
		defer c.shared.close()
	}
	request := c.request.WithContext(httptrace.WithClientTrace(ctx, c.trace))
	if c.body != nil {
		request.Body = io.NopCloser(bytes.NewReader(c.body))
	}
	c.first.Store(0)
	sent := timing.Now()
	r, err := conn.RoundTrip(request)
	if err != nil {
		return c.asFailure(closed, "waiting for the answer", err)
	}
	defer func() { _ = r.Body.Close() }()
	first := c.first.Load()
	if first == 0 {
		first = timing.Now()
	}
	p[firstByte] = max(first-sent, 1)
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil && timeout(err):
		return failed(tooLate, "reading the body", err)
	case err != nil:
		return &failure{broken, fmt.Errorf("the body ended after %d bytes: %w", n, err)}
	case n > maxBody:
		return &failure{broken, fmt.Errorf("a body of more than %d MiB", maxBody>>20)}
	}
	p[rest] = max(timing.Now()-first, 1)
	return checkAnswer(r.StatusCode, n, c.response)
}

// asFailure keeps a failure that has a kind, and finds one for others.
func (c *overHTTP2) asFailure(k kind, doing string, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if k == closed && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, net.ErrClosed) {
		if _, network := errors.AsType[*net.OpError](err); !network {
			k = broken
		}
	}
	return failed(k, doing, err)
}

// close leaves a connection that other workers use to the run.
func (c *overHTTP2) close() {}
