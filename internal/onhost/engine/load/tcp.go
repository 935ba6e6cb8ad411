package load

import (
	"errors"
	"fmt"
	"io"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
)

// Load over TCP: the requests use the connections in turn, and many may be under way on each. The server answers
// those of one connection in order.

// mostOutstanding limits how many requests wait for a reply, and so the memory. Further requests are held back; their
// response time counts from when they should have left.
const mostOutstanding = 1 << 20

// none is the end of a list of pending requests.
const none = -1

// pending is a request that waits for its reply.
type pending struct {
	intended int64
	// actual is 0 until the kernel has taken the request's first byte.
	actual int64
	next   int32
}

// conn is one connection. The requests from first to last wait for their replies, in order. The last unsent of them,
// from unsentAt on, have not left completely.
type conn struct {
	socket      *sys.Socket
	first, last int32
	unsentAt    int32
	unsent      int
	// sent is how many have left completely.
	sent int
	// written is how many bytes of the first unsent request have left, got how many bytes of the first reply have come.
	written, got int
	waits        bool // for room in the socket
}

// overTCP is the transport over TCP.
type overTCP struct {
	tally  *tally
	poller *sys.Poller
	conns  []conn
	turn   int
	// entries are the waiting requests. Entries below fresh have been used; the free ones of those form a list.
	entries     []pending
	free, fresh int32
	waiting     int64
	// requests is a row of requests for one write.
	requests          []byte
	request, response int
	buffer            []byte
	failure           error
	failedSocket      *sys.Socket
}

// The failures of a connection that the kernel does not report.
var (
	errTooMuch = errors.New("the server sent more than the responses that it was asked for")
	errPoller  = errors.New("waiting for replies")
)

// newOverTCP prepares for the given connections, which the transport owns from then on.
func newOverTCP(t *tally, sockets []*sys.Socket, request, response int) (*overTCP, error) {
	p, err := sys.NewPollerOf(sockets)
	if err != nil {
		return nil, err
	}
	l := &overTCP{tally: t, poller: p, entries: make([]pending, mostOutstanding), free: none,
		requests: sys.NewBuffer(request * max(1, sys.ReadSize/request)), request: request, response: response,
		buffer: sys.NewBuffer(sys.ReadSize)}
	for _, s := range sockets {
		l.conns = append(l.conns, conn{socket: s, first: none, last: none})
	}
	l.begin()
	return l, nil
}

// send queues the request on the next connection in turn, and writes it at once if no other request waits there.
//
//go:nosplit
func (l *overTCP) send(intended int64) bool {
	at := l.take()
	if at == none || l.failure != nil {
		return false
	}
	c := &l.conns[l.turn]
	turn := l.turn
	if l.turn++; l.turn == len(l.conns) {
		l.turn = 0
	}
	l.entries[at] = pending{intended: intended, next: none}
	if c.last == none {
		c.first = at
	} else {
		l.entries[c.last].next = at
	}
	c.last = at
	l.waiting++
	if c.unsent++; c.unsent == 1 {
		c.unsentAt = at
		l.flush(c, turn)
	}
	return true
}

// flush writes the unsent rest, as much as the kernel takes.
//
//go:nosplit
func (l *overTCP) flush(c *conn, index int) {
	for c.unsent > 0 {
		size := min(min(c.unsent*l.request, len(l.requests))-c.written, l.room(c))
		if size <= 0 {
			break
		}
		actual := timing.Now()
		n := c.socket.Write(l.requests[c.written : c.written+size])
		if n < 0 {
			if !c.socket.TimedOut() {
				l.fail(c, nil)
				return
			}
			n = 0
		}
		l.account(c, n, actual)
		if n < size {
			break
		}
	}
	if waits := c.unsent > 0; waits != c.waits {
		c.waits = waits
		if !l.poller.Interest(c.socket, index, true, waits) {
			l.fail(c, errPoller)
		}
	}
}

// account notes that the kernel took n more bytes of a connection's requests.
//
//go:nosplit
func (l *overTCP) account(c *conn, n int, actual int64) {
	for n > 0 {
		e := &l.entries[c.unsentAt]
		if c.written == 0 {
			e.actual = actual
			l.tally.left(e.intended, actual)
		}
		if c.written+n < l.request {
			c.written += n
			return
		}
		n -= l.request - c.written
		c.written = 0
		c.unsentAt = e.next
		c.unsent--
		c.sent++
	}
}

// receive handles the result of a read from a connection at the given time.
//
//go:nosplit
func (l *overTCP) receive(c *conn, n int, now int64) {
	if n <= 0 {
		if n < 0 && c.socket.TimedOut() {
			return
		}
		if n == 0 {
			c.socket.SetEnded()
		}
		l.fail(c, nil)
		return
	}
	for c.got += n; c.got >= l.response; c.got -= l.response {
		at := c.first
		if at == none || c.unsent > 0 && at == c.unsentAt {
			l.fail(c, errTooMuch)
			return
		}
		e := &l.entries[at]
		l.tally.replied(e.intended, e.actual, now)
		c.sent--
		if c.first = e.next; c.first == none {
			c.last = none
		}
		e.next, l.free = l.free, at
		l.waiting--
	}
	if c.got > 0 && c.first == none {
		l.fail(c, errTooMuch)
	}
}

// take gives a free entry, or none. It prefers entries that were used before, so that no more memory is touched than
// needed.
//
//go:nosplit
func (l *overTCP) take() int32 {
	if at := l.free; at != none {
		l.free = l.entries[at].next
		return at
	}
	if int(l.fresh) == len(l.entries) {
		return none
	}
	l.fresh++
	return l.fresh - 1
}

//go:nosplit
func (l *overTCP) fail(c *conn, failure error) {
	if l.failure != nil {
		return
	}
	if l.failure = failure; failure == nil {
		l.failure = io.EOF // why exactly, the socket knows
		l.failedSocket = c.socket
	}
}

func (l *overTCP) err() error {
	switch {
	case l.failedSocket != nil:
		return sys.ConnectionError(l.failedSocket)
	case errors.Is(l.failure, errPoller):
		return fmt.Errorf("%w: %w", errPoller, l.poller.Err())
	}
	return l.failure
}

//go:nosplit
func (l *overTCP) outstanding(int64) int64 { return l.waiting }

func (l *overTCP) leftovers(each func(intended, actual int64)) {
	for _, c := range l.conns {
		for at := c.first; at != none; at = l.entries[at].next {
			each(l.entries[at].intended, l.entries[at].actual)
		}
	}
}

func (l *overTCP) close() { l.poller.Close() }
