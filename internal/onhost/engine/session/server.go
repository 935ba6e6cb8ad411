package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// sessionGrace is how long a session may take in addition to its warm-up and window.
const sessionGrace = 30 * time.Second

// ServeOptions say how to serve.
type ServeOptions struct {
	// Listen is the control address, host:port. The data ports are opened on the same address.
	Listen string
	// DataPort is the port for the data of a session; 0 for any free one.
	DataPort int
	// Secret is what a client must know. CheckSecret says which secrets are allowed.
	Secret []byte
	// Once ends serving after one session.
	Once bool
	// IdleTimeout ends serving after this time without a session; 0 for never.
	IdleTimeout time.Duration
	// Within are the addresses that are served; empty for all. Others find a connection that is closed at once.
	Within []netip.Prefix
	// Moving answers the datagrams of a load from any address that has the session's cookie. Without it, the address of
	// the first one is the client's until the session ends.
	Moving bool
	// Stall makes the server stop answering at regular intervals (rr over TCP, load), for demonstrations.
	Stall timing.Stall
	// Listening is called with the control address when the server listens.
	Listening func(netip.AddrPort)
	// BeforeSession is called before each session; it may be nil. No other session of the server runs then.
	BeforeSession func()
	// Log is called with one line for each session. Several goroutines may call it.
	Log func(message string)
}

// serves says whether an address is served.
func (o ServeOptions) serves(a net.Addr) bool { return Serves(o.Within, a) }

// Serves says whether an address is one of those that are served; no networks stand for all addresses.
func Serves(within []netip.Prefix, a net.Addr) bool {
	if len(within) == 0 {
		return true
	}
	from, err := wire.AddrPort(a)
	return err == nil && slices.ContainsFunc(within, func(p netip.Prefix) bool {
		return p.Contains(from.Addr().WithZone(""))
	})
}

// A DataHandler serves the data of one session until the client says stop.
type DataHandler func(d *Server) error

// Serve serves sessions, one at a time, until ctx ends or the options end it. It returns nil after the end of ctx.
func Serve(ctx context.Context, o ServeOptions, handler DataHandler) error {
	if len(o.Secret) == 0 {
		return errors.New("serving needs a secret")
	}
	if err := wire.CheckSecret(o.Secret); err != nil {
		return err
	}
	if err := o.Stall.Validate(); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listening for sessions: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &listener{options: o, handler: handler, seen: wire.NewNonces(), cancel: cancel}
	defer s.connections.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if o.IdleTimeout > 0 {
		s.idle = time.AfterFunc(o.IdleTimeout, cancel)
		defer s.idle.Stop()
	}
	local, err := wire.AddrPort(l.Addr())
	if err != nil {
		return err
	}
	if o.Listening != nil {
		o.Listening(local)
	}
	return s.accept(ctx, l)
}

type listener struct {
	options     ServeOptions
	handler     DataHandler
	seen        *wire.Nonces
	greeted     wire.Pending
	cancel      context.CancelFunc
	idle        *time.Timer
	connections sync.WaitGroup
	// measuring is held by the only session that measures.
	measuring sync.Mutex
}

// accept takes control connections until ctx ends.
func (s *listener) accept(ctx context.Context, l net.Listener) error {
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			if temporary(err) {
				s.log("accepting a session: %v", err)
				select {
				case <-time.After(50 * time.Millisecond): // descriptors may become free
				case <-ctx.Done():
				}
				continue
			}
			return fmt.Errorf("accepting a session: %w", err)
		}
		if !s.options.serves(conn.RemoteAddr()) {
			_ = conn.Close()
			continue
		}
		c := s.greeted.Add(conn)
		s.connections.Go(func() { s.handle(ctx, c) })
	}
}

// handle serves one control connection.
func (s *listener) handle(ctx context.Context, c *wire.PendingConn) {
	conn := c.Conn
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	frames, err := wire.GreetClient(conn, s.options.Secret, s.seen)
	if !s.greeted.Remove(c) {
		c.Excuse()
		return
	}
	if err != nil {
		s.log("%v: turned away: %v", conn.RemoteAddr(), err)
		return
	}
	if !s.measuring.TryLock() {
		// The client sees the message, or that the connection ends.
		_ = frames.Write(wire.KindFailure, wire.Failure{Message: "the server is busy with another measurement"})
		return
	}
	if s.options.Once {
		defer s.cancel()
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.options.BeforeSession != nil {
		s.options.BeforeSession()
	}
	r, err := s.session(ctx, conn, frames)
	if s.idle != nil {
		s.idle.Reset(s.options.IdleTimeout)
	}
	// This comes before the client learns of the end, because it may begin its next session at once.
	s.measuring.Unlock()
	if err != nil {
		s.log("%v: %v", conn.RemoteAddr(), err)
		_ = frames.Write(wire.KindFailure, wire.Failure{Message: err.Error()})
		return
	}
	s.log("%v: done: %d transactions, %d bytes", conn.RemoteAddr(), r.Transactions, r.Bytes)
	if err := frames.Write(wire.KindReport, r); err != nil {
		s.log("%v: reporting: %v", conn.RemoteAddr(), err)
	}
}

// session agrees on the parameters, opens the data port, and serves the data until the client says stop.
func (s *listener) session(ctx context.Context, conn net.Conn, frames *wire.Conn) (wire.Report, error) {
	var p wire.Params
	if err := frames.Expect(wire.KindSetup, &p); err != nil {
		return wire.Report{}, fmt.Errorf("setting up: %w", err)
	}
	if err := p.Validate(); err != nil {
		return wire.Report{}, fmt.Errorf("setting up: %w", err)
	}
	if err := conn.SetDeadline(time.Now().Add(p.Length() + sessionGrace)); err != nil {
		return wire.Report{}, err
	}
	local, err := wire.AddrPort(conn.LocalAddr())
	if err != nil {
		return wire.Report{}, err
	}
	if _, err := sys.Supported(p, local.Addr()); err != nil {
		return wire.Report{}, fmt.Errorf("setting up: %w", err)
	}
	p.Loop = p.AnswerLoop(sys.AssemblyLoop && s.options.Stall.Length == 0)
	data, err := openData(ctx, p, netip.AddrPortFrom(local.Addr(), uint16(s.options.DataPort)), frames)
	if err != nil {
		return wire.Report{}, fmt.Errorf("opening the data port: %w", err)
	}
	defer data.Close()
	data.Stall, data.Moving, data.serves = s.options.Stall, s.options.Moving, s.options.serves
	if err := frames.Write(wire.KindReady, wire.Ready{Port: data.Number, Cookie: data.Secret[:], CPUs: process.CPUs(),
		Machine: process.Machine(), Loop: p.Loop}); err != nil {
		return wire.Report{}, err
	}
	err = data.serve(ctx, s.handler)
	r := data.Done
	r.Version = process.Version()
	return r, err
}

func (s *listener) log(format string, args ...any) {
	if s.options.Log != nil {
		s.options.Log(wire.Printable(fmt.Sprintf(format, args...)))
	}
}

func temporary(err error) bool {
	// net.Error.Temporary is deprecated except for accept.
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}
