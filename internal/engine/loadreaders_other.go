//go:build !linux || portable

package engine

import "strconv"

// How a load takes what has come, elsewhere than on Linux: a goroutine for each connection reads, which blocks, and takes
// the time. The books of the load are the hot thread's but for when it waits; then the readers enter what they have read.

const (
	// unansweredLimit bounds the bytes of requests that are under way on a connection: a write blocks the hot thread when a
	// socket is full, and there is no asking beforehand. socketBuffer is what a socket is given for them, so that it never is.
	unansweredLimit = 128 << 10
	socketBuffer    = 2 * unansweredLimit
	// readerBuffer is how much a reader takes at once.
	readerBuffer = 32 << 10
)

// loadFacts are those of how a load is carried out.
func loadFacts() map[string]string {
	return map[string]string{"unanswered_limit": strconv.Itoa(unansweredLimit) + " bytes a connection"}
}

// room is how many more bytes of requests a connection may have under way; always one request.
func (l *tcpLoad) room(c *loadConn) int {
	return max(unansweredLimit, l.request) - c.sent*l.request - c.written
}

// begin starts the readers.
func (l *tcpLoad) begin() {
	for i := range l.conns {
		l.poller.readers.Go(func() { l.listen(i) })
	}
}

// listen reads a connection to its end.
func (l *tcpLoad) listen(index int) {
	c := &l.conns[index]
	buffer := make([]byte, readerBuffer)
	for ok := true; ok; {
		n, err := c.socket.conn.Read(buffer)
		now := nanotime()
		if !l.poller.enter() {
			return
		}
		l.receive(c, c.socket.came(len(buffer), n, err), now)
		if c.waits && l.failure == nil {
			l.flush(c, index)
		}
		ok = l.failure == nil
		l.poller.leave()
	}
}

// poll lets the readers enter what has come, for the given time.
func (l *tcpLoad) poll(timeout int64) bool {
	l.poller.pause(timeout)
	return l.failure == nil
}

// begin starts the readers.
func (u *udpLoad) begin() {
	for i := range u.sockets {
		u.poller.readers.Go(func() { u.listen(i) })
	}
}

// listen reads a socket until it fails.
func (u *udpLoad) listen(index int) {
	s := u.sockets[index]
	buffer := make([]byte, len(u.response))
	for ok := true; ok; {
		n, err := s.conn.Read(buffer)
		now := nanotime()
		if !u.poller.enter() {
			return
		}
		if size := s.came(len(buffer), n, err); size >= 0 {
			u.receive(index, buffer, size, now)
		} else {
			u.failedSocket, ok = s, false
		}
		u.poller.leave()
	}
}

// poll lets the readers enter what has come, for the given time.
func (u *udpLoad) poll(timeout int64) bool {
	u.poller.pause(timeout)
	return u.failedSocket == nil
}
