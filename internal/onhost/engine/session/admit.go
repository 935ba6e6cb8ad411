package session

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// strangers is how many connections, in addition to those of the session, may wait for their cookie to be read.
const strangers = 128

// AcceptAll accepts the session's connections and closes the data port.
func (d *Server) AcceptAll() ([]*sys.Socket, error) {
	conns, err := d.admit(d.Params.DataConnections())
	if err != nil {
		return nil, err
	}
	for len(conns) > 0 {
		s, err := sys.New(conns[0])
		if err != nil {
			closeConns(conns)
			return nil, err
		}
		conns = conns[1:]
		d.Sockets = append(d.Sockets, s)
		if err := s.Prepare(d.Params); err != nil {
			closeConns(conns)
			return nil, err
		}
	}
	err = d.TCP.Close()
	d.TCP = nil
	return d.Sockets, err
}

// AcceptOpening accepts the connection that opens a session of crr, whose other connections carry no cookie: from is
// the address from which they will come. The data port stays open. When the server is ready for them, it sends a byte.
func (d *Server) AcceptOpening() (opening net.Conn, from netip.Addr, err error) {
	conns, err := d.admit(1)
	if err != nil {
		return nil, from, err
	}
	address, err := wire.AddrPort(conns[0].RemoteAddr())
	if err != nil {
		closeConns(conns)
		return nil, from, err
	}
	return conns[0], address.Addr(), nil
}

// admit accepts n connections that start with the session's cookie, and returns them in the order in which they came.
// They may come from any address: address translation may give the data another one than the control connection.
// Others are closed unanswered.
func (d *Server) admit(n int) (conns []*net.TCPConn, err error) {
	defer d.whileHere(d.TCP)()
	deadline := time.Now().Add(wire.HandshakeTime)
	if err := d.TCP.SetDeadline(deadline); err != nil {
		return nil, err
	}
	a := &admission{
		cookie: d.Secret, serves: d.serves, deadline: deadline, most: n + strangers, admitted: make(chan candidate),
		over: make(chan struct{}),
	}
	ended := make(chan error, 1)
	go func() { ended <- a.accept(d.TCP) }()
	var admitted []candidate
	for len(admitted) < n && err == nil {
		select {
		case c := <-a.admitted:
			admitted = append(admitted, c)
		case err = <-ended:
		}
	}
	slices.SortFunc(admitted, func(x, y candidate) int { return cmp.Compare(x.number, y.number) })
	for _, c := range admitted {
		conns = append(conns, c.conn)
	}
	if err == nil {
		err = d.TCP.SetDeadline(time.Now()) // accept returns
		if failed := <-ended; failed != nil && !wire.IsTimeout(failed) {
			err = errors.Join(err, failed)
		}
	} else if wire.IsTimeout(err) {
		err = fmt.Errorf("%d of %d data connections came within %v: is TCP port %d open?", len(conns), n,
			wire.HandshakeTime, d.Number)
	} else {
		err = d.whyEnded("accepting a data connection", err)
	}
	a.end()
	if err == nil {
		err = d.TCP.SetDeadline(time.Time{})
	}
	if err != nil {
		closeConns(conns)
		return nil, err
	}
	return conns, nil
}

func closeConns(conns []*net.TCPConn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// A candidate is an accepted connection; number counts them.
type candidate struct {
	number int
	conn   *net.TCPConn
}

// An admission reads the cookies of many connections at once, so that a connection that sends none delays no other.
type admission struct {
	cookie wire.Cookie
	serves func(net.Addr) bool
	// deadline is the end of the admission, and of the wait for each cookie: a path that loses the packet with the
	// cookie may need seconds to send it again.
	deadline time.Time
	// most is how many connections may wait. A further one closes the oldest.
	most     int
	admitted chan candidate
	over     chan struct{} // closed at the end

	readers sync.WaitGroup
	mu      sync.Mutex
	waiting []*net.TCPConn // the oldest first
}

// accept accepts connections until the listener fails.
func (a *admission) accept(l *net.TCPListener) error {
	for number := 0; ; number++ {
		c, err := l.AcceptTCP()
		if err != nil {
			if temporary(err) && !wire.IsTimeout(err) {
				time.Sleep(time.Millisecond) // descriptors may become free
				continue
			}
			return err
		}
		if !a.serves(c.RemoteAddr()) {
			_ = c.Close()
			continue
		}
		a.mu.Lock()
		if a.waiting = append(a.waiting, c); len(a.waiting) > a.most {
			_ = a.waiting[0].Close()
			a.waiting = a.waiting[1:]
		}
		a.mu.Unlock()
		a.readers.Go(func() { a.read(candidate{number, c}) })
	}
}

// read reads the cookie of a connection, and admits or closes it.
func (a *admission) read(from candidate) {
	c := from.conn
	var got wire.Cookie
	err := c.SetDeadline(a.deadline)
	if err == nil {
		_, err = io.ReadFull(c, got[:])
	}
	if err == nil && subtle.ConstantTimeCompare(got[:], a.cookie[:]) != 1 {
		err = errors.New("another cookie")
	}
	if err == nil && a.forget(c) && c.SetDeadline(time.Time{}) == nil {
		select {
		case a.admitted <- from:
			return
		case <-a.over:
		}
	}
	a.forget(c)
	_ = c.Close()
}

// forget removes a connection that no longer waits; false if it has been closed in favour of another.
func (a *admission) forget(c *net.TCPConn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.waiting)
	a.waiting = slices.DeleteFunc(a.waiting, func(other *net.TCPConn) bool { return other == c })
	return len(a.waiting) < before
}

// end closes the connections that still wait.
func (a *admission) end() {
	close(a.over)
	a.mu.Lock()
	closeConns(a.waiting)
	a.mu.Unlock()
	a.readers.Wait()
}
