// Package session is a session between a client and a server, in any mode: both sides agree on the parameters, open
// the data connections, and end together. A mode provides a Measure for the client and a DataHandler for the server.
package session

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

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// RunOptions say what to measure, and with which server.
type RunOptions struct {
	// Server is the control address, host:port.
	Server string
	Secret []byte
	Params wire.Params
	// Live reports each interval when it ends, and not after the run. A second thread then wakes up once a second.
	Live bool
	// Load is what ModeLoad offers, and ModeHTTP if it has a schedule.
	Load Load
	// Patience is how long the measurement may take in addition to warm-up and window; 0 for 10 s.
	Patience time.Duration
	// Samples receives every observation (docs/samples.md), and Histograms the distributions of the intervals in
	// HdrHistogram's log format (rr, crr, load); nil for neither.
	Samples, Histograms io.Writer
}

// An Observer gets the intervals of a run while it runs. An error from it ends the run.
type Observer interface {
	Start(record.Start) error
	Interval(record.Interval) error
}

// stallTime is how long the measurement may take in addition to warm-up and window.
const stallTime = 10 * time.Second

// limit is how long warm-up, window and possible delays may take together.
func (o RunOptions) limit() time.Duration { return o.Params.Length() + cmp.Or(o.Patience, stallTime) }

// A Measure measures in a session whose parameters are agreed on. Its result is the last line of the record.
type Measure func(ctx context.Context, c *Client, observer Observer) (record.Result, error)

// Run opens a session with the server and measures in it. Whatever the server does, it takes at most warm-up, window
// and half a minute.
func Run(ctx context.Context, o RunOptions, measure Measure, observer Observer) (record.Result, error) {
	if len(o.Secret) == 0 {
		return record.Result{}, errors.New("measuring needs the server's secret")
	}
	if err := wire.CheckSecret(o.Secret); err != nil {
		return record.Result{}, err
	}
	if err := o.Params.Validate(); err != nil {
		return record.Result{}, err
	}
	if err := o.Load.Validate(o.Params); err != nil {
		return record.Result{}, err
	}
	c, err := Dial(ctx, o)
	if err != nil {
		return record.Result{}, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.control.Close() })
	defer stop()
	if err := observer.Start(startLine(o)); err != nil {
		return record.Result{}, err
	}
	if err := c.openFiles(); err != nil {
		return record.Result{}, err
	}
	process.Reserve(o.Params.HotThreads())
	r, err := measure(ctx, c, observer)
	if ferr := c.Files.close(&r); err == nil {
		err = ferr
	}
	if ctx.Err() != nil {
		return record.Result{}, ctx.Err()
	}
	return r, err
}

// Client is the client's side of one session.
type Client struct {
	Options RunOptions
	control net.Conn
	Frames  *wire.Conn
	// Server is the address for the data.
	Server netip.AddrPort
	Cookie wire.Cookie
	// Ready is what the server said about itself.
	Ready wire.Ready
	Files recordFiles
	// Tried are the facts of the socket with which the options were tried.
	Tried map[string]string
	// RoundTrip is how long the answer to the setup took.
	RoundTrip time.Duration

	// opened is when the setup was sent.
	opened time.Time

	mu      sync.Mutex
	Sockets []*sys.Socket
	// lost is why the session was interrupted.
	lost error
	stop []func()
}

// Dial connects to the server, authenticates both sides, and agrees on the parameters.
func Dial(ctx context.Context, o RunOptions) (*Client, error) {
	d := net.Dialer{Timeout: wire.HandshakeTime}
	conn, err := d.DialContext(ctx, "tcp", o.Server)
	if err != nil {
		return nil, fmt.Errorf("connecting to the server: %w", err)
	}
	c := &Client{Options: o, control: conn}
	if err := c.setUp(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%s: %w", o.Server, err)
	}
	return c, nil
}

func (c *Client) setUp() error {
	frames, err := wire.GreetServer(c.control, c.Options.Secret)
	if err != nil {
		return err
	}
	c.Frames = frames
	remote, err := wire.AddrPort(c.control.RemoteAddr())
	if err != nil {
		return err
	}
	if c.Tried, err = sys.Supported(c.Options.Params, remote.Addr()); err != nil {
		return fmt.Errorf("setting up the client: %w", err)
	}
	sent := time.Now()
	c.opened = sent
	setup := c.Options.Params
	setup.Loop = setup.OfferLoop(sys.AssemblyLoop && timing.HasCounter())
	if err := frames.Write(wire.KindSetup, setup); err != nil {
		return c.Said("setting up", err)
	}
	var r wire.Ready
	if err := frames.Expect(wire.KindReady, &r); err != nil {
		return c.Said("setting up", err)
	}
	c.RoundTrip = time.Since(sent)
	if r.Port < 1 || r.Port > 65535 || len(r.Cookie) != wire.CookieSize {
		return errors.New("setting up: the server's answer makes no sense")
	}
	if c.Options.Params.Loop, err = c.Options.Params.AgreeLoop(setup.Loop, r.Loop); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	copy(c.Cookie[:], r.Cookie)
	c.Ready = r
	c.Server = netip.AddrPortFrom(remote.Addr(), uint16(r.Port))
	return c.control.SetDeadline(time.Now().Add(c.Options.limit() + wire.HandshakeTime))
}

// Own registers a function that interrupts a hot thread when the session is lost, and a socket to close at the end.
func (c *Client) Own(s *sys.Socket, interrupt func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != nil {
		c.Sockets = append(c.Sockets, s)
	}
	c.stop = append(c.stop, interrupt)
	if c.lost != nil { // before there was anything to interrupt
		interrupt()
	}
}

// Interrupt makes the hot threads return, for the given reason.
func (c *Client) Interrupt(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost == nil {
		c.lost = reason
	}
	for _, stop := range c.stop {
		stop()
	}
}

// Reason is why the session was interrupted, or nil.
func (c *Client) Reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// Close ends the session and closes its sockets.
func (c *Client) Close() {
	_ = c.control.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.Sockets {
		s.Close()
	}
	c.Sockets, c.stop = nil, nil
}

func startLine(o RunOptions) record.Start {
	p := o.Params
	schedule := ""
	if len(o.Load.Schedule.Steps) > 0 {
		schedule = o.Load.Schedule.String()
	}
	return record.Start{Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, Server: o.Server,
		Request: p.Request, Response: p.Response, Message: p.Message, Connections: p.Connections,
		Direction: p.Direction, Batch: p.Batch, Rate: p.MessageRate, Wait: p.Wait, Schedule: schedule,
		Warmup: p.Warmup.Seconds(), Duration: p.Duration.Seconds()}
}
