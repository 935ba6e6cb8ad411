package web

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"nearfar/internal/onhost/engine/timing"
)

// An exchanger sends one request at a time and reads its answer.
type exchanger interface {
	// exchange fills in the phases, and its error is a *failure.
	exchange(ctx context.Context, deadline time.Time, p *phases) error
	close()
}

// overHTTP1 exchanges over a connection of its own.
type overHTTP1 struct {
	dialer *dialer
	// request is what is written for each request, template the same for the reader of answers.
	request    []byte
	template   *http.Request
	response   int
	perRequest bool

	conn   net.Conn
	forget func() bool
	meter  meter
	in     *bufio.Reader
	// grain is how exactly time-outs are kept, and limit the connection's own, which is set anew when it is that much too
	// early.
	grain time.Duration
	limit time.Time
	// known is the text of the last header that said how long its body is. A header with the same text says the same and
	// is not read again.
	known knownHeader
}

// knownHeader is the text of a header, and what it says.
type knownHeader struct {
	text   []byte
	status int
	length int64
	keep   bool
}

// newOverHTTP1 prepares requests. All workers share the text.
func newOverHTTP1(o *Options, d *dialer, text []byte, template *http.Request) *overHTTP1 {
	return &overHTTP1{dialer: d, request: text, template: template, response: o.Response,
		perRequest: o.HTTP.PerRequest, grain: o.Timeout / 10, in: bufio.NewReaderSize(nil, 16<<10)}
}

// requestOf makes the request that is sent again and again.
func requestOf(o *Options) *http.Request {
	r := &http.Request{Method: http.MethodGet, URL: o.URL, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: o.Header.Clone(), Host: o.URL.Host}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "nearfar")
	}
	if o.Request > 0 {
		r.Method, r.ContentLength = http.MethodPost, int64(o.Request)
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/octet-stream")
		}
	}
	return r
}

// textOf writes a request as HTTP/1.1.
func textOf(r *http.Request, perRequest bool) ([]byte, error) {
	r = r.Clone(context.Background())
	r.Close = perRequest
	if r.ContentLength > 0 {
		r.Body = io.NopCloser(bytes.NewReader(make([]byte, r.ContentLength)))
	}
	var text bytes.Buffer
	if err := r.Write(&text); err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	return text.Bytes(), nil
}

// exchange opens the connection if there is none. A server may close a connection that was idle: a GET that finds it
// closed is sent once more.
func (c *overHTTP1) exchange(ctx context.Context, deadline time.Time, p *phases) error {
	idle := c.conn != nil
	err := c.once(ctx, deadline, p)
	if err != nil && idle && c.template.ContentLength == 0 && errors.Is(err, errIdleClosed) {
		err = c.once(ctx, deadline, p)
	}
	return err
}

func (c *overHTTP1) once(ctx context.Context, deadline time.Time, p *phases) error {
	if c.conn == nil {
		conn, err := c.dialer.dial(ctx, deadline, p)
		if err != nil {
			return err
		}
		c.conn = conn
		c.forget = context.AfterFunc(ctx, func() { _ = conn.Close() })
		c.meter.from, c.limit = conn, time.Time{}
		c.in.Reset(&c.meter)
	}
	keep, err := c.transact(deadline, p)
	if err != nil || !keep || c.perRequest {
		if failure, ok := errors.AsType[*failure](err); !ok || failure.kind != status || !keep || c.perRequest {
			c.close()
		}
	}
	return err
}

// errIdleClosed is why a request on a connection that had been idle got no byte of an answer.
var errIdleClosed = errors.New("the server closed the connection")

// transact writes the request and reads the answer. keep says that the connection can carry another request.
func (c *overHTTP1) transact(deadline time.Time, p *phases) (keep bool, err error) {
	if deadline.Sub(c.limit) > c.grain {
		if err := c.conn.SetDeadline(deadline); err != nil {
			return false, failed(closed, "sending the request", err)
		}
		c.limit = deadline
	}
	sent := timing.Now()
	c.meter.left = maxHeader
	if _, err := c.conn.Write(c.request); err != nil {
		return false, failed(closed, "sending the request", gone(err))
	}
	if _, err := c.in.Peek(1); err != nil {
		return false, failed(closed, "waiting for the answer", gone(err))
	}
	began := timing.Now()
	p[firstByte] = began - sent
	status, n, keep, err := c.answer()
	if err != nil {
		return false, err
	}
	p[rest] = max(timing.Now()-began, 1)
	if c.in.Buffered() > 0 {
		return false, &failure{broken, errors.New("the server sent more than its answer")}
	}
	return keep, checkAnswer(status, n, c.response)
}

// answer reads header and body, and gives the length of the body.
func (c *overHTTP1) answer() (status int, n int64, keep bool, err error) {
	text, _ := c.in.Peek(c.in.Buffered())
	if k := &c.known; len(k.text) > 0 && bytes.HasPrefix(text, k.text) {
		_, _ = c.in.Discard(len(k.text)) // it is in the buffer
		c.meter.left = maxBody
		n, err := c.in.Discard(int(k.length))
		if err != nil {
			return 0, 0, false, bodyFailed(int64(n), k.length, err)
		}
		return k.status, int64(n), k.keep, nil
	}
	if end := bytes.Index(text, []byte(headerEnd)); end >= 0 {
		c.known.text = append(c.known.text[:0], text[:end+len(headerEnd)]...)
	} else {
		c.known.text = c.known.text[:0]
	}
	r, informed, err := c.header()
	if err != nil {
		c.known.text = c.known.text[:0]
		return 0, 0, false, err
	}
	c.known.status, c.known.length, c.known.keep = r.StatusCode, r.ContentLength, !r.Close
	if informed || r.ContentLength < 0 || r.ContentLength > maxBody || len(r.TransferEncoding) > 0 {
		c.known.text = c.known.text[:0]
	}
	c.meter.left = maxBody
	if n, err = io.Copy(io.Discard, r.Body); err != nil {
		return 0, 0, false, bodyFailed(n, r.ContentLength, err)
	}
	return r.StatusCode, n, !r.Close, nil
}

const headerEnd = "\r\n\r\n"

// header reads the header of the answer. informed says that others came before it.
func (c *overHTTP1) header() (r *http.Response, informed bool, err error) {
	for n := range maxInformed {
		r, err := http.ReadResponse(c.in, c.template)
		switch {
		case err != nil && c.meter.left <= 0:
			return nil, false, &failure{broken, errTooLong}
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
			return nil, false, failed(closed, "reading the answer", gone(err))
		case err != nil:
			return nil, false, failed(broken, "reading the answer", err)
		case r.StatusCode >= http.StatusOK || r.StatusCode == http.StatusSwitchingProtocols:
			return r, n > 0, nil
		}
	}
	return nil, false, &failure{broken, fmt.Errorf("the server sent %d answers of the kind 1xx", maxInformed)}
}

// bodyFailed says why a body was not read to its end.
func bodyFailed(n, length int64, err error) *failure {
	if errors.Is(err, errTooLong) {
		return &failure{broken, fmt.Errorf("a body of more than %d MiB", maxBody>>20)}
	}
	if length >= 0 && !timeout(err) {
		return &failure{broken, fmt.Errorf("the body ended after %d of %d bytes: %w", n, length, err)}
	}
	return failed(closed, "reading the body", gone(err))
}

// checkAnswer says what is wrong with an answer that was read to its end.
func checkAnswer(code int, n int64, want int) error {
	switch {
	case code < 200 || code > 299:
		return &failure{status, fmt.Errorf("status %d", code)}
	case want > 0 && n != int64(want):
		return &failure{broken, fmt.Errorf("a body of %d bytes, where %d were asked for", n, want)}
	}
	return nil
}

// gone says in the same words that the other side ended a connection, however that shows.
func gone(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errIdleClosed
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%w (%w)", errIdleClosed, err)
	}
	return err
}

func (c *overHTTP1) close() {
	if c.conn == nil {
		return
	}
	c.forget()
	_ = c.conn.Close()
	c.conn = nil
}

// errTooLong is the error of a reader that has given all that it may.
var errTooLong = fmt.Errorf("more than %d KiB of headers", maxHeader>>10)

// A meter reads a limited number of bytes. What is left is set anew for each part of an answer.
type meter struct {
	from io.Reader
	left int
}

// Read reads, up to the limit.
func (m *meter) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooLong
	}
	n, err := m.from.Read(b[:min(len(b), m.left)])
	m.left -= n
	return n, err
}
