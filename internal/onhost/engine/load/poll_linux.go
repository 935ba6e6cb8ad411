//go:build !portable

package load

import (
	"math"

	"nearfar/internal/onhost/engine/timing"
)

// How a load takes replies on Linux: the hot thread asks the kernel (epoll) and reads without blocking.

// begin does nothing: the hot thread reads.
func (l *overTCP) begin() {}

func (u *overUDP) begin() {}

// room is how many more bytes of requests a connection may have under way. Here the kernel says when a socket is
// full.
//
//go:nosplit
func (l *overTCP) room(*conn) int { return math.MaxInt }

// systemFacts are facts about how a load works on this system.
func systemFacts() map[string]string { return nil }

//go:nosplit
func (l *overTCP) poll(timeout int64) bool {
	n := l.poller.Wait(timeout)
	if n < 0 {
		l.fail(nil, errPoller)
	}
	for i := 0; i < n && l.failure == nil; i++ {
		index, read, write := l.poller.Event(i)
		c := &l.conns[index]
		if read {
			// One read, so that no connection keeps the others waiting.
			size := c.socket.Read(l.buffer)
			if now := timing.Now(); size >= 0 || !c.socket.TimedOut() {
				l.receive(c, size, now)
			}
		}
		if write && c.waits && l.failure == nil {
			l.flush(c, index)
		}
	}
	return l.failure == nil
}

//go:nosplit
func (u *overUDP) poll(timeout int64) bool {
	if u.failedSocket != nil {
		return false
	}
	n := u.poller.Wait(timeout)
	if n < 0 {
		u.pollFailed = true
		return false
	}
	for i := range n {
		index, _, _ := u.poller.Event(i)
		s := u.sockets[index]
		// Several at once, but not so many that a due request waits for long.
		for range 8 {
			size := s.Read(u.response)
			if size < 0 {
				if !s.TimedOut() {
					u.failedSocket = s
					return false
				}
				break
			}
			u.receive(index, u.response, size, timing.Now())
		}
	}
	return true
}
