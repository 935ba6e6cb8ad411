package agent

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// reserveLimit bounds the exchange with another agent of this machine.
const reserveLimit = 2 * time.Second

// reservePort reserves a port by a socket with an abstract name (unix(7)): like the port, it belongs to the network
// namespace, and it ends with this process. Whoever connects to it gets the run's name, or nothing if its owner is
// away.
func reservePort(port int, run func() string) (free func(), err error) {
	name := &net.UnixAddr{Name: fmt.Sprintf("@nearfar-port-%d", port), Net: "unix"}
	for range 3 {
		l, err := net.ListenUnix("unix", name)
		if err == nil {
			go tell(l, run)
			return func() { _ = l.Close() }, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return nil, err
		}
		holder, err := asks(name)
		switch {
		case err != nil: // it may have ended since
		case holder == "" || holder == run():
			return func() {}, nil
		default:
			return nil, ErrReserved
		}
	}
	return nil, ErrReserved // by a program that does not answer
}

// tell tells everybody who asks which run has a port. It serves one after the other, each for a bounded time.
func tell(l *net.UnixListener, run func() string) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(reserveLimit))
		_, _ = io.WriteString(c, run()) // the other side notices
		_ = c.Close()
	}
}

// asks asks which run has a port.
func asks(name *net.UnixAddr) (run string, err error) {
	c, err := net.DialUnix("unix", nil, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }() // it was only read
	_ = c.SetDeadline(time.Now().Add(reserveLimit))
	b, err := io.ReadAll(io.LimitReader(c, 64))
	return string(b), err
}
