package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// ErrClientGone says that the client has left the session.
var ErrClientGone = errors.New("the client is gone")

// Server is the server's side of one session.
type Server struct {
	Params  wire.Params
	Secret  wire.Cookie
	Frames  *wire.Conn
	TCP     *net.TCPListener // until it is given to crr
	UDP     *net.UDPConn     // until it is given to rr
	Number  int
	Threads []<-chan struct{}
	// Stops end the hot loops that do not end with their sockets.
	Stops   []func()
	Sockets []*sys.Socket
	Done    wire.Report
	Stall   timing.Stall
	// Moving is that of ServeOptions.
	Moving bool
	serves func(net.Addr) bool
	// Gone ends when the client disconnects or the server must end.
	Gone context.Context
}

// openData opens the data port.
func openData(ctx context.Context, p wire.Params, local netip.AddrPort, frames *wire.Conn) (*Server, error) {
	d := &Server{Params: p, Secret: wire.NewCookie(), Frames: frames}
	process.Reserve(p.HotThreads())
	if p.Protocol == wire.UDP {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
		if err != nil {
			return nil, err
		}
		d.UDP, d.Number = c, c.LocalAddr().(*net.UDPAddr).Port
		return d, nil
	}
	// Plain TCP: Go listens for Multipath TCP by default. Keep-alives would add packets.
	lc := net.ListenConfig{KeepAlive: -1, Control: sys.Controlled(p)}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(ctx, "tcp", local.String())
	if err != nil {
		return nil, err
	}
	var ok bool
	if d.TCP, ok = l.(*net.TCPListener); !ok {
		_ = l.Close()
		return nil, fmt.Errorf("a listener of type %T", l)
	}
	d.Number = d.TCP.Addr().(*net.TCPAddr).Port
	return d, nil
}

// Run runs a hot loop of the session on a thread of its own; only is the loop's only socket, or nil. stop tells the
// loop to end if interrupting its socket is not enough; it may be nil. Close calls it, however the session ends.
func (d *Server) Run(only *sys.Socket, loop, stop func()) {
	if stop != nil {
		d.Stops = append(d.Stops, stop)
	}
	var closeOwn func()
	if only != nil {
		closeOwn = only.Close
	}
	d.Threads = append(d.Threads, process.OnThread(closeOwn, loop))
}

// Finish waits for the client's stop, puts into the report the CPU time of the account and how long the threads waited
// for a CPU, and closes the session. It reads these times while the threads still exist.
func (d *Server) Finish(a process.Account) error {
	err := d.AwaitStop()
	d.Done.CPU, d.Done.Elapsed = a.Elapsed()
	d.Done.Waited = process.RunDelay()
	d.Close()
	return err
}

// Close ends the hot loops, waits for their threads, and releases what the session holds. It may be called twice.
func (d *Server) Close() {
	for _, stop := range d.Stops {
		stop()
	}
	if d.TCP != nil {
		_ = d.TCP.Close()
	}
	if d.UDP != nil {
		_ = d.UDP.Close()
	}
	for _, s := range d.Sockets {
		s.Interrupt()
	}
	process.Wait(d.Threads)
	for _, s := range d.Sockets {
		s.Close()
	}
	d.Sockets, d.Stops = nil, nil // their descriptors may soon be others'
}

// serve serves the data until the client says stop, leaves, or ctx ends.
func (d *Server) serve(ctx context.Context, handler DataHandler) error {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	d.Gone = gone
	d.Frames.ReadAhead(leave)
	return handler(d)
}

// AwaitStop waits for the client's stop. Any other frame, or the end of the connection, is an error.
func (d *Server) AwaitStop() error {
	if err := d.Frames.Expect(wire.KindStop, nil); err != nil {
		if errors.Is(err, io.EOF) {
			return ErrClientGone
		}
		return fmt.Errorf("waiting for the end of the measurement: %w", err)
	}
	return nil
}

// FirstDatagram waits for a datagram of the given size with the cookie, from any address, and connects the socket to
// its sender. It returns the datagram in a buffer that is one byte larger.
func (d *Server) FirstDatagram(size int) (*sys.Socket, []byte, error) {
	defer d.whileHere(d.UDP)()
	if err := d.UDP.SetReadDeadline(time.Now().Add(wire.HandshakeTime)); err != nil {
		return nil, nil, err
	}
	buffer := make([]byte, size+1)
	var client netip.AddrPort
	for {
		n, from, err := d.UDP.ReadFromUDPAddrPort(buffer)
		if err != nil {
			if wire.IsTimeout(err) {
				return nil, nil, fmt.Errorf("no datagram of the session came within %v: is UDP port %d open?",
					wire.HandshakeTime, d.Number)
			}
			return nil, nil, d.whyEnded("waiting for the client's datagrams", err)
		}
		if n == size && wire.SameCookie(buffer, d.Secret[:]) && d.Serves(from) {
			client = from
			break
		}
	}
	if err := d.UDP.SetReadDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	socket, err := sys.New(d.UDP)
	if err != nil {
		return nil, nil, err
	}
	d.UDP = nil
	d.Sockets = append(d.Sockets, socket)
	if err := socket.ConnectTo(client); err != nil {
		return nil, nil, err
	}
	return socket, buffer, socket.Prepare(d.Params)
}

// ServesFrom says whether connections from an address are served.
func (d *Server) ServesFrom(from net.Addr) bool { return d.serves(from) }

// Serves says whether datagrams from an address are taken at all.
func (d *Server) Serves(from netip.AddrPort) bool { return d.serves(net.UDPAddrFromAddrPort(from)) }

// whileHere closes c when the client leaves. The returned function ends that.
func (d *Server) whileHere(c io.Closer) func() bool {
	return context.AfterFunc(d.Gone, func() { _ = c.Close() })
}

// whyEnded says why waiting for the client's data failed.
func (d *Server) whyEnded(doing string, err error) error {
	if d.Gone.Err() != nil {
		return ErrClientGone
	}
	return fmt.Errorf("%s: %w", doing, err)
}
