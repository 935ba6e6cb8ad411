package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"nearfar/internal/engine/record"
)

// RunOptions say what to measure against which server.
type RunOptions struct {
	// Server is the control address, host:port.
	Server string
	Secret []byte
	Params Params
	// Live reports each interval when it ends, and not after the run: then a thread beside the measuring one wakes up once
	// a second.
	Live bool
	// Load is what ModeLoad offers.
	Load Load
	// patience takes the place of stallTime, for tests.
	patience time.Duration
	// Samples takes every observation, as docs/samples.md says, and Histograms the distributions of the intervals in
	// HdrHistogram's log format (rr, crr, load); nil for neither.
	Samples, Histograms io.Writer
}

// An Observer is told of a run as it goes on. An error from it ends the run.
type Observer interface {
	Start(record.Start) error
	Interval(record.Interval) error
}

// stallTime is what the measuring may take beside its warm-up and window before it is given up.
const stallTime = 10 * time.Second

// limit is how long warm-up, window and what may come between take before the measurement is given up.
func (o RunOptions) limit() time.Duration { return o.Params.length() + cmp.Or(o.patience, stallTime) }

// Run measures once, and returns what the last line of the record holds. It takes no longer than warm-up, window and
// half a minute, whatever the server does.
func Run(ctx context.Context, o RunOptions, observer Observer) (record.Result, error) {
	if len(o.Secret) == 0 {
		return record.Result{}, errors.New("measuring needs the server's secret")
	}
	if err := CheckSecret(o.Secret); err != nil {
		return record.Result{}, err
	}
	if err := o.Params.Validate(); err != nil {
		return record.Result{}, err
	}
	if err := o.Load.Validate(o.Params); err != nil {
		return record.Result{}, err
	}
	c, err := dial(ctx, o)
	if err != nil {
		return record.Result{}, err
	}
	defer c.close()
	stop := context.AfterFunc(ctx, func() { _ = c.control.Close() })
	defer stop()
	if err := observer.Start(startLine(o)); err != nil {
		return record.Result{}, err
	}
	if err := c.openFiles(); err != nil {
		return record.Result{}, err
	}
	r, err := c.measure(ctx, observer)
	if ferr := c.files.close(&r); err == nil {
		err = ferr
	}
	if ctx.Err() != nil {
		return record.Result{}, ctx.Err()
	}
	return r, err
}

// client is the client's side of one session.
type client struct {
	options RunOptions
	control net.Conn
	frames  *frameConn
	// server is the address of the data.
	server netip.AddrPort
	cookie cookie
	// ready is what the server said of itself.
	ready ready
	files recordFiles
	// tried are the facts of a socket that the options were tried on.
	tried map[string]string
	// roundTrip is the time that the set-up took to be answered.
	roundTrip time.Duration

	mu      sync.Mutex
	sockets []*socket
	// lost is why the session was interrupted.
	lost error
	stop []func()
}

// dial connects to the server, proves to it and agrees on the session.
func dial(ctx context.Context, o RunOptions) (*client, error) {
	d := net.Dialer{Timeout: handshakeTime}
	conn, err := d.DialContext(ctx, "tcp", o.Server)
	if err != nil {
		return nil, fmt.Errorf("connecting to the server: %w", err)
	}
	c := &client{options: o, control: conn}
	if err := c.setUp(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", o.Server, err)
	}
	return c, nil
}

func (c *client) setUp() error {
	frames, err := greetServer(c.control, c.options.Secret)
	if err != nil {
		return err
	}
	c.frames = frames
	remote, err := addrPort(c.control.RemoteAddr())
	if err != nil {
		return err
	}
	if c.tried, err = supported(c.options.Params, remote.Addr()); err != nil {
		return fmt.Errorf("setting up the client: %w", err)
	}
	sent := time.Now()
	if err := frames.write(frameSetup, c.options.Params); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	var r ready
	if err := frames.expect(frameReady, &r); err != nil {
		return c.said("setting up", err)
	}
	c.roundTrip = time.Since(sent)
	if r.Port < 1 || r.Port > 65535 || len(r.Cookie) != cookieSize {
		return errors.New("setting up: the server's answer makes no sense")
	}
	copy(c.cookie[:], r.Cookie)
	c.ready = r
	c.server = netip.AddrPortFrom(remote.Addr(), uint16(r.Port))
	return c.control.SetDeadline(time.Now().Add(c.options.limit() + handshakeTime))
}

// said makes an error of what came instead of a frame.
func (c *client) said(doing string, err error) error {
	var p *peerError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: the server says: %w", doing, err)
	}
	return fmt.Errorf("%s: the server is gone: %w", doing, err)
}

// measure runs the mode. Every way that it can block ends with the control connection or the deadline.
func (c *client) measure(ctx context.Context, observer Observer) (record.Result, error) {
	p := c.options.Params
	reserveThreads(p.hotThreads())
	switch p.Mode {
	case ModeStream:
		return c.stream(ctx, observer)
	case ModeLoad:
		return c.load(ctx, observer)
	case ModeMessages:
		return c.messages(ctx, observer)
	}
	// The server is listened to before the first transaction: those that open a session could wait for ever otherwise.
	server := c.listen(func(frameKind) bool { return false })
	t, err := c.transactor(ctx)
	if err != nil {
		return record.Result{}, c.whyFailed(err, server)
	}
	return c.transactions(t, server, observer)
}

// transactor opens the data connection, where there is one.
func (c *client) transactor(ctx context.Context) (transactor, error) {
	p := c.options.Params
	switch {
	case p.Mode == ModeCRR:
		t := newCRRClient(newConnector(c.server, p), p.Request, p.Response)
		c.own(&t.socket, t.stop)
		return t, nil
	case p.Protocol == UDP:
		u, err := c.udpTransactor(ctx)
		if err != nil || !p.Timestamps {
			return u, err
		}
		return newStampedUDP(u)
	}
	s, err := c.dialData(ctx)
	if err != nil {
		return nil, err
	}
	if p.Timestamps {
		return newStampedTCP(s, p.Request, p.Response)
	}
	return newRRClient(s, p.Request, p.Response), nil
}

// dialData opens one TCP data connection that starts with the cookie.
func (c *client) dialData(ctx context.Context) (*socket, error) {
	d := net.Dialer{Timeout: handshakeTime, KeepAlive: -1, Control: c.options.Params.control}
	conn, err := d.DialContext(ctx, "tcp", c.server.String())
	if err != nil {
		return nil, fmt.Errorf("connecting to the server's data port: %w", err)
	}
	if _, err := conn.Write(c.cookie[:]); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("opening the data connection: %w", err)
	}
	return c.adopt(conn)
}

// adopt takes a connection out of the runtime's hands.
func (c *client) adopt(conn net.Conn) (*socket, error) {
	raw, ok := conn.(rawConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("a data connection of type %T", conn)
	}
	s, err := newSocket(raw)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("opening the data connection: %w", err)
	}
	c.own(s, s.interrupt)
	return s, s.prepare(c.options.Params)
}

// udpTransactor opens the data socket, and repeats the first datagram until the server answers.
func (c *client) udpTransactor(ctx context.Context) (*udpClient, error) {
	p := c.options.Params
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", c.server.String())
	if err != nil {
		return nil, fmt.Errorf("opening the data socket: %w", err)
	}
	s, err := c.adopt(conn)
	if err != nil {
		return nil, err
	}
	timeout := replyTimeout(c.roundTrip)
	if err := s.setReceiveTimeout(timeout + timerSlack); err != nil {
		return nil, err
	}
	u := newUDPClient(s, c.cookie, p.Request, p.Response, timeout)
	c.own(nil, func() { u.stopped.Store(true); s.interrupt() })
	for deadline := time.Now().Add(handshakeTime); !u.opened; {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no reply from the server's UDP port %d within %v: is it open?", c.server.Port(), handshakeTime)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, ok := u.run(nil, 0); !ok && !s.refused() {
			return nil, u.err()
		}
	}
	return u, nil
}

// own notes what is to be interrupted when the session is lost, and what is to be closed at the end.
func (c *client) own(s *socket, interrupt func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != nil {
		c.sockets = append(c.sockets, s)
	}
	c.stop = append(c.stop, interrupt)
	if c.lost != nil { // before there was anything to interrupt
		interrupt()
	}
}

// interrupt makes the hot threads return, for the given reason.
func (c *client) interrupt(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		c.lost = reason
	}
	for _, stop := range c.stop {
		stop()
	}
}

// reason is why the session was interrupted, or nil.
func (c *client) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

func (c *client) close() {
	_ = c.control.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sockets {
		s.close()
	}
	c.sockets, c.stop = nil, nil
}

// incoming reads the server's frames and gives them to each until the report has come or the connection has ended. The
// hot threads are interrupted when it ends early.
func (c *client) incoming(each func(frameKind, []byte) error) (report, error) {
	for {
		kind, payload, err := c.frames.read()
		switch {
		case err != nil && isTimeout(err):
			err = fmt.Errorf("no end after %v: the server or the network is stuck", c.options.limit())
		case err != nil:
			err = c.said("measuring", err)
		case kind == frameFailure:
			err = c.said("measuring", decodeFailure(payload))
		case kind == frameReport:
			var r report
			if err = decodePayload(payload, &r); err == nil {
				if err = r.check(); err == nil {
					return r, nil
				}
			}
		default:
			err = each(kind, payload)
		}
		if err != nil {
			c.interrupt(err)
			return report{}, err
		}
	}
}

func startLine(o RunOptions) record.Start {
	p := o.Params
	schedule := ""
	if p.Mode == ModeLoad {
		schedule = o.Load.Schedule.String()
	}
	return record.Start{Version: Version(), Mode: p.Mode, Protocol: p.Protocol, Server: o.Server,
		Request: p.Request, Response: p.Response, Message: p.Message, Connections: p.Connections,
		Direction: p.Direction, Batch: p.Batch, Rate: p.MessageRate, Wait: p.Wait, Schedule: schedule,
		Warmup: p.Warmup.Seconds(), Duration: p.Duration.Seconds()}
}
