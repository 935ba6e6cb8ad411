//go:build !linux || portable

package load

import (
	"strconv"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
)

// How a load receives replies on systems other than Linux: a goroutine for each connection reads, which blocks, and
// notes the time. The state of the load belongs to the hot thread. While the hot thread waits, the readers enter what
// they have read.

const (
	// unansweredLimit limits the bytes of requests under way on a connection. A write would block the hot thread if the
	// socket were full, and there is no way to ask. The socket's buffer has room for twice as many.
	unansweredLimit = sys.WriteBuffer / 2
	// readerBuffer is how many bytes a reader reads at once.
	readerBuffer = 32 << 10
)

// systemFacts are facts about how a load works on this system.
func systemFacts() map[string]string {
	return map[string]string{"unanswered_limit": strconv.Itoa(unansweredLimit) + " bytes a connection"}
}

// room is how many more bytes of requests a connection may have under way; always enough for one request.
func (l *overTCP) room(c *conn) int {
	return max(unansweredLimit, l.request) - c.sent*l.request - c.written
}

// begin starts the readers.
func (l *overTCP) begin() {
	for i := range l.conns {
		l.poller.Readers.Go(func() { l.listen(i) })
	}
}

// listen reads a connection to its end.
func (l *overTCP) listen(index int) {
	c := &l.conns[index]
	buffer := make([]byte, readerBuffer)
	for ok := true; ok; {
		n, err := c.socket.ReadRaw(buffer)
		now := timing.Now()
		if !l.poller.Enter() {
			return
		}
		l.receive(c, c.socket.Took(len(buffer), n, err), now)
		if c.waits && l.failure == nil {
			l.flush(c, index)
		}
		ok = l.failure == nil
		l.poller.Leave()
	}
}

// poll lets the readers enter what they have read, for the given time.
func (l *overTCP) poll(timeout int64) bool {
	l.poller.Pause(timeout)
	return l.failure == nil
}

// begin starts the readers.
func (u *overUDP) begin() {
	for i := range u.sockets {
		u.poller.Readers.Go(func() { u.listen(i) })
	}
}

// listen reads a socket until it fails.
func (u *overUDP) listen(index int) {
	s := u.sockets[index]
	buffer := make([]byte, len(u.response))
	for ok := true; ok; {
		n, err := s.ReadRaw(buffer)
		now := timing.Now()
		if !u.poller.Enter() {
			return
		}
		if size := s.Took(len(buffer), n, err); size >= 0 {
			u.receive(index, buffer, size, now)
		} else {
			u.failedSocket, ok = s, false
		}
		u.poller.Leave()
	}
}

// poll lets the readers enter what they have read, for the given time.
func (u *overUDP) poll(timeout int64) bool {
	u.poller.Pause(timeout)
	return u.failedSocket == nil
}
