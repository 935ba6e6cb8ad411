//go:build !linux || portable

package sys

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/wire"
)

// IOMethod is the fact that says how messages were sent and received: here through the Go runtime's poller, which
// takes time that the engine on Linux does not need.
const IOMethod = "Go net package"

// A Socket is a connected socket of the net package.
type Socket struct {
	conn    net.Conn
	timeout time.Duration
	// failure is why the last call returned less than 0; io.EOF if the other side has ended the stream.
	failure error
	// closer is what interrupt closes: the connection, or a listener.
	closer atomic.Pointer[io.Closer]
}

// Read returns the number of bytes, 0 at the end of the stream, or less than 0 if it failed. A datagram that is
// larger than the buffer fills it.
func (s *Socket) Read(b []byte) int {
	if s.timeout > 0 {
		if s.failure = s.conn.SetReadDeadline(time.Now().Add(s.timeout)); s.failure != nil {
			return -1
		}
	}
	n, err := s.conn.Read(b)
	return s.Took(len(b), n, err)
}

// ReadRaw reads from the connection without changing the socket. The caller hands the result to Took when it may
// change the socket.
func (s *Socket) ReadRaw(b []byte) (int, error) { return s.conn.Read(b) }

// Took converts the result of a read into a buffer of the given size into the result of Read.
func (s *Socket) Took(size, n int, err error) int {
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

// Write returns the number of bytes, or less than 0 if it failed.
func (s *Socket) Write(b []byte) int {
	n, err := s.conn.Write(b)
	if err != nil {
		s.failure = err
		return -1
	}
	return n
}

// SetEnded notes that the other side has ended the stream.
func (s *Socket) SetEnded() { s.failure = io.EOF }

// Err says why the last call returned less than 0.
func (s *Socket) Err() error {
	if s.failure == nil {
		return io.EOF
	}
	return s.failure
}

// TimedOut says whether the last call failed because of its time limit.
func (s *Socket) TimedOut() bool { return wire.IsTimeout(s.failure) }

// Close closes the connection.
func (s *Socket) Close() { s.Interrupt() }

// Pending is 1 if something has arrived that was not read yet, and 0 otherwise.
func (s *Socket) Pending() int {
	if s.conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return 0
	}
	n, _ := s.conn.Read(make([]byte, 1)) // an error says that there is nothing
	return n
}

// Discard closes the connection.
func (s *Socket) Discard() { s.Close() }

// Unopened is a socket without a connection.
func Unopened() Socket { return Socket{} }

// Interrupt closes the connection: a thread that is blocked in Read or Write returns.
func (s *Socket) Interrupt() {
	if c := s.closer.Load(); c != nil {
		_ = (*c).Close()
	}
}

func (s *Socket) set(c net.Conn) {
	s.conn = c
	s.setCloser(c)
}

func (s *Socket) setCloser(c io.Closer) { s.closer.Store(&c) }

// A Raw is a connection of the net package.
type Raw interface{ net.Conn }

// New takes over a connection of the net package.
func New(c Raw) (*Socket, error) {
	s := &Socket{}
	s.set(c)
	return s, nil
}

// SetReceiveTimeout limits the time of each read.
func (s *Socket) SetReceiveTimeout(d time.Duration) error {
	s.timeout = d
	return nil
}

// ConnectTo sets the peer of a UDP socket.
func (s *Socket) ConnectTo(peer netip.AddrPort) error {
	c, ok := s.conn.(*net.UDPConn)
	if !ok {
		return fmt.Errorf("%T has no peer to fix", s.conn)
	}
	s.set(&fixedPeer{UDPConn: c, peer: peer})
	return nil
}

// fixedPeer is a UDP socket that receives from one peer only, and sends to it.
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

// Facts are not available through the net package.
func (s *Socket) Facts() map[string]string { return map[string]string{} }
