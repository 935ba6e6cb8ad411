//go:build !linux || portable

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// ioMethod says in the record how messages were sent and received: here through the Go runtime's poller, which costs
// time that the Linux engine does not spend.
const ioMethod = "Go net package"

// A socket is a connected socket of the net package.
type socket struct {
	conn    net.Conn
	timeout time.Duration
	// failure is why the last call returned less than 0; io.EOF where the other side has ended the stream.
	failure error
	// closer is what interrupt closes: the connection, or a listener.
	closer atomic.Pointer[io.Closer]
}

// read returns the number of bytes, 0 at the end of the stream, or less than 0 when it failed. A datagram that is larger
// than the buffer fills it.
func (s *socket) read(b []byte) int {
	if s.timeout > 0 {
		if s.failure = s.conn.SetReadDeadline(time.Now().Add(s.timeout)); s.failure != nil {
			return -1
		}
	}
	n, err := s.conn.Read(b)
	return s.came(len(b), n, err)
}

// came is what read returns for what a reading into so many bytes gave.
func (s *socket) came(size, n int, err error) int {
	switch {
	case err != nil && isTooLong(err):
		return size
	case n > 0 || err == nil:
		return n
	case errors.Is(err, io.EOF):
		return 0
	}
	s.failure = err
	return -1
}

// write returns the number of bytes, or less than 0 when it failed.
func (s *socket) write(b []byte) int {
	n, err := s.conn.Write(b)
	if err != nil {
		s.failure = err
		return -1
	}
	return n
}

func (s *socket) setEnded() { s.failure = io.EOF }

func (s *socket) err() error {
	if s.failure == nil {
		return io.EOF
	}
	return s.failure
}

func (s *socket) timedOut() bool { return s.failure != nil && isTimeout(s.failure) }

// refused says whether the last call failed because the other side's port is closed (UDP).
func (s *socket) refused() bool { return s.failure != nil && isRefused(s.failure) }

// noBuffers says whether the last call failed because the system had no room for a datagram.
func (s *socket) noBuffers() bool { return s.failure != nil && isNoRoom(s.failure) }

func (s *socket) close() { s.interrupt() }

// pending is whether something has come that nobody has read: 1 or 0.
func (s *socket) pending() int {
	if s.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return 0
	}
	n, _ := s.conn.Read(make([]byte, 1)) // an error says that there is nothing
	return n
}

func (s *socket) discard() { s.close() }

// unopened is a socket that nothing has been opened into yet.
func unopened() socket { return socket{} }

// interrupt closes the connection: a thread that is blocked in read or write returns.
func (s *socket) interrupt() {
	if c := s.closer.Load(); c != nil {
		_ = (*c).Close()
	}
}

func (s *socket) set(c net.Conn) {
	s.conn = c
	s.setCloser(c)
}

func (s *socket) setCloser(c io.Closer) { s.closer.Store(&c) }

// A rawConn is a connection of the net package.
type rawConn interface{ net.Conn }

func newSocket(c rawConn) (*socket, error) {
	s := &socket{}
	s.set(c)
	return s, nil
}

func (s *socket) setReceiveTimeout(d time.Duration) error {
	s.timeout = d
	return nil
}

// connectTo fixes the peer of a UDP socket.
func (s *socket) connectTo(peer netip.AddrPort) error {
	c, ok := s.conn.(*net.UDPConn)
	if !ok {
		return fmt.Errorf("%T has no peer to fix", s.conn)
	}
	s.set(&fixedPeer{UDPConn: c, peer: peer})
	return nil
}

// fixedPeer is a UDP socket that hears and answers one peer only.
type fixedPeer struct {
	*net.UDPConn
	peer netip.AddrPort
}

func (f *fixedPeer) Read(b []byte) (int, error) {
	for {
		n, from, err := f.ReadFromUDPAddrPort(b)
		if err != nil {
			return n, err
		}
		if from.Port() == f.peer.Port() && from.Addr().Unmap() == f.peer.Addr().Unmap() {
			return n, nil
		}
	}
}

func (f *fixedPeer) Write(b []byte) (int, error) { return f.WriteToUDPAddrPort(b, f.peer) }

// facts, processCPU and allowedCPUs are not known through the net package.
func (s *socket) facts() map[string]string { return map[string]string{} }
func processCPU() (time.Duration, bool)    { return 0, false }
func allowedCPUs() string                  { return "" }

// ownFiles is known to help on Linux only.
func ownFiles() bool { return false }

// onMainThread matters only where threads have files of their own.
func onMainThread() bool { return false }

// A connector makes the connections of crr, one after the other.
type connector struct {
	dialer  net.Dialer
	peer    string
	failure error
}

func newConnector(peer netip.AddrPort, _ Params) *connector {
	return &connector{dialer: net.Dialer{Timeout: handshakeTime, KeepAlive: -1}, peer: peer.String()}
}

func (c *connector) connect(s *socket) bool {
	conn, err := c.dialer.DialContext(context.Background(), "tcp", c.peer)
	if err != nil {
		c.failure = err
		return false
	}
	s.set(conn)
	return true
}

func (c *connector) err() error { return c.failure }

// An acceptor takes the connections of crr, one after the other, from one peer address only.
type acceptor struct {
	listener socket // has no connection; for its facts
	tcp      *net.TCPListener
	peer     netip.Addr
}

func newAcceptor(l *net.TCPListener, peer netip.Addr, _ Params) (*acceptor, error) {
	a := &acceptor{tcp: l, peer: peer}
	a.listener.setCloser(l)
	return a, nil
}

// accept waits for the next connection of the peer and puts it into s; those of others are closed unanswered.
func (a *acceptor) accept(s *socket) bool {
	for {
		conn, err := a.tcp.Accept()
		if err != nil {
			a.listener.failure = err
			return false
		}
		from, err := addrPort(conn.RemoteAddr())
		if err == nil && from.Addr() == a.peer && conn.SetReadDeadline(time.Now().Add(silentConnection)) == nil {
			s.set(conn)
			return true
		}
		_ = conn.Close()
	}
}

// Reexec does nothing: there is no replacing of a process here.
func Reexec() error { return nil }

func isRefused(err error) bool {
	var e *os.SyscallError
	return errors.As(err, &e) && isConnectionRefused(e.Err)
}

func isNoRoom(err error) bool {
	var e *os.SyscallError
	return errors.As(err, &e) && isOutOfBuffers(e.Err)
}
