package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// sessionGrace is what a session may take beside its warm-up and window.
const sessionGrace = 30 * time.Second

// ServeOptions say how to serve.
type ServeOptions struct {
	// Listen is the control address, host:port. The data ports are opened on the same address.
	Listen string
	// DataPort is the port for the data of a session; 0 for any free one.
	DataPort int
	// Secret is what a client must know. CheckSecret says which will do.
	Secret []byte
	// Once ends serving after one session.
	Once bool
	// IdleTimeout ends serving when there has been no session for so long; 0 for never.
	IdleTimeout time.Duration
	// Stall makes the server stop answering again and again (rr over TCP, load), for demonstrations.
	Stall Stall
	// Listening is called with the control address once it is bound.
	Listening func(netip.AddrPort)
	// Log is told of each session in one line. It may be called from several goroutines.
	Log func(message string)
}

// Serve serves sessions, one at a time, until ctx ends, or as the options say. The error of an ended ctx is nil.
func Serve(ctx context.Context, o ServeOptions) error {
	if len(o.Secret) == 0 {
		return errors.New("serving needs a secret")
	}
	if err := CheckSecret(o.Secret); err != nil {
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
	s := &server{options: o, seen: newNonceMemory(), cancel: cancel}
	defer s.connections.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if o.IdleTimeout > 0 {
		s.idle = time.AfterFunc(o.IdleTimeout, cancel)
		defer s.idle.Stop()
	}
	local, err := addrPort(l.Addr())
	if err != nil {
		return err
	}
	if o.Listening != nil {
		o.Listening(local)
	}
	return s.accept(ctx, l)
}

type server struct {
	options     ServeOptions
	seen        *nonceMemory
	greeted     greeted
	cancel      context.CancelFunc
	idle        *time.Timer
	connections sync.WaitGroup
	// measuring is held by the one session that measures.
	measuring sync.Mutex
}

// accept takes control connections until ctx ends.
func (s *server) accept(ctx context.Context, l net.Listener) error {
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
		c := s.greeted.add(conn)
		s.connections.Go(func() { s.handle(ctx, c) })
	}
}

// handle carries out one control connection.
func (s *server) handle(ctx context.Context, c *greetedConn) {
	conn := c.conn
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	frames, err := greetClient(conn, s.options.Secret, s.seen)
	if !s.greeted.remove(c) {
		c.excuse()
		return
	}
	if err != nil {
		s.log("%v: turned away: %v", conn.RemoteAddr(), err)
		return
	}
	if !s.measuring.TryLock() {
		// The client sees the message, or that the connection ends.
		_ = frames.write(frameFailure, failure{Message: "the server is busy with another measurement"})
		return
	}
	if s.options.Once {
		defer s.cancel()
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	r, err := s.session(ctx, conn, frames)
	if s.idle != nil {
		s.idle.Reset(s.options.IdleTimeout)
	}
	// Before the client hears of the end: it may begin its next session at once.
	s.measuring.Unlock()
	if err != nil {
		s.log("%v: %v", conn.RemoteAddr(), err)
		_ = frames.write(frameFailure, failure{Message: err.Error()})
		return
	}
	s.log("%v: done: %d transactions, %d bytes", conn.RemoteAddr(), r.Transactions, r.Bytes)
	if err := frames.write(frameReport, r); err != nil {
		s.log("%v: reporting: %v", conn.RemoteAddr(), err)
	}
}

// session agrees on the parameters, opens the data port, and serves the data until the client says stop.
func (s *server) session(ctx context.Context, conn net.Conn, frames *frameConn) (report, error) {
	var p Params
	if err := frames.expect(frameSetup, &p); err != nil {
		return report{}, fmt.Errorf("setting up: %w", err)
	}
	if err := p.Validate(); err != nil {
		return report{}, fmt.Errorf("setting up: %w", err)
	}
	if err := conn.SetDeadline(time.Now().Add(p.length() + sessionGrace)); err != nil {
		return report{}, err
	}
	local, err := addrPort(conn.LocalAddr())
	if err != nil {
		return report{}, err
	}
	peer, err := addrPort(conn.RemoteAddr())
	if err != nil {
		return report{}, err
	}
	if _, err := supported(p, local.Addr()); err != nil {
		return report{}, fmt.Errorf("setting up: %w", err)
	}
	data, err := openData(ctx, p, netip.AddrPortFrom(local.Addr(), uint16(s.options.DataPort)), peer.Addr(), frames)
	if err != nil {
		return report{}, fmt.Errorf("opening the data port: %w", err)
	}
	defer data.close()
	data.stall = s.options.Stall
	if err := frames.write(frameReady, ready{Port: data.port(), Cookie: data.cookie(), CPUs: allowedCPUs(), Machine: machine()}); err != nil {
		return report{}, err
	}
	err = data.serve(ctx)
	r := data.report()
	r.Version = Version()
	return r, err
}

func (s *server) log(format string, args ...any) {
	if s.options.Log != nil {
		s.options.Log(printable(fmt.Sprintf(format, args...)))
	}
}

func temporary(err error) bool {
	// net.Error.Temporary is deprecated for everything but accept, where it means what it says.
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// addrPort reads the address of a TCP or UDP socket, IPv4 unmapped.
func addrPort(a net.Addr) (netip.AddrPort, error) {
	h, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%v is no IP address", a)
	}
	ap := h.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), nil
}
