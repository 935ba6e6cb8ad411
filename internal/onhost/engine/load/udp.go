package load

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// Load over UDP: the requests use the sockets in turn, each with its number. A request without a reply in time is
// lost.

// replyTimeout is how long a request waits for its reply. A later reply counts as late, and its request as lost.
const replyTimeout = 2 * time.Second

// The limits of how many requests are remembered.
const (
	leastSlots = 1 << 10
	mostSlots  = 1 << 21
)

// slot is a request that was sent. It is remembered until a much later one takes its place.
type slot struct {
	sequence         uint64
	intended, actual int64
	answered         bool
}

// overUDP is the transport over UDP.
type overUDP struct {
	tally   *tally
	poller  *sys.Poller
	sockets []*sys.Socket
	turn    int
	// slots remember the requests by number. Their count is a power of two.
	slots             []slot
	sequence          uint64
	newest            []uint64 // answered, of each socket
	request, response []byte
	// lastSent is when the last request left.
	lastSent     int64
	open         int64 // requests within the slots that have no reply
	counts       observe.DatagramCounts
	failedSocket *sys.Socket
	pollFailed   bool
}

// slotsFor is how many requests must be remembered for the reply timeout at a rate.
func slotsFor(rate float64) int {
	n := uint64(min(rate*replyTimeout.Seconds()*1.1, mostSlots))
	return 1 << bits.Len64(max(n, leastSlots)-1)
}

// newOverUDP prepares for the given connected sockets, which the transport owns from then on.
func newOverUDP(t *tally, sockets []*sys.Socket, c wire.Cookie, request, response int, rate float64) (*overUDP, error) {
	p, err := sys.NewPollerOf(sockets)
	if err != nil {
		return nil, err
	}
	u := &overUDP{tally: t, poller: p, sockets: sockets, slots: make([]slot, slotsFor(rate)), newest: make([]uint64,
		len(sockets)),
		request: sys.NewBuffer(request), response: sys.NewBuffer(response + 1)}
	copy(u.request, c[:])
	clear(u.request[wire.CookieSize:wire.DatagramHeader])
	u.begin()
	return u, nil
}

// timeout is how long a request really waits for its reply: less than replyTimeout if there are too few slots.
func (u *overUDP) timeout(rate float64) time.Duration {
	return min(replyTimeout, time.Duration(float64(len(u.slots))/rate*1e9))
}

//go:nosplit
func (u *overUDP) send(intended int64) bool {
	s := u.sockets[u.turn]
	sequence := u.sequence + 1
	wire.PutSequence(u.request, sequence)
	u.request[wire.FlagsOffset] = 0
	if intended >= u.tally.start {
		u.request[wire.FlagsOffset] = wire.FlagCounted
	}
	actual := timing.Now()
	// A datagram for which the kernel has no buffer is lost, like one in the network.
	if n := s.Write(u.request); n < 0 && !s.NoBuffers() {
		if !s.TimedOut() {
			u.failedSocket = s
		}
		return false
	}
	u.sequence = sequence
	if u.turn++; u.turn == len(u.sockets) {
		u.turn = 0
	}
	at := &u.slots[sequence&uint64(len(u.slots)-1)]
	if at.sequence == 0 || at.answered {
		u.open++
	}
	*at = slot{sequence: sequence, intended: intended, actual: actual}
	u.lastSent = actual
	u.tally.left(intended, actual)
	return true
}

// receive handles one datagram that came on a socket at the given time.
//
//go:nosplit
func (u *overUDP) receive(index int, datagram []byte, size int, now int64) {
	if size != len(u.response)-1 || !wire.SameCookie(datagram, u.request) {
		u.counts.Foreign++
		return
	}
	sequence := wire.Sequence(datagram)
	if sequence > u.sequence {
		u.counts.Foreign++
		return
	}
	if sequence == 0 {
		return // a second reply to the opening datagram
	}
	counted := int64(datagram[wire.FlagsOffset] & wire.FlagCounted)
	at := &u.slots[sequence&uint64(len(u.slots)-1)]
	switch {
	case at.sequence != sequence || !at.answered && now-at.actual > int64(replyTimeout):
		u.counts.Late += counted
		return
	case at.answered:
		u.counts.Duplicates += counted
		return
	}
	at.answered = true
	u.open--
	if sequence < u.newest[index] {
		u.counts.OutOfOrder += counted
	} else {
		u.newest[index] = sequence
	}
	u.tally.replied(at.intended, at.actual, now)
}

//go:nosplit
func (u *overUDP) outstanding(now int64) int64 {
	if now-u.lastSent > int64(replyTimeout) {
		return 0
	}
	return u.open
}

func (u *overUDP) leftovers(each func(intended, actual int64)) {
	for _, s := range u.slots {
		if s.sequence > 0 && !s.answered {
			each(s.intended, s.actual)
		}
	}
}

func (u *overUDP) err() error {
	switch {
	case u.pollFailed:
		return fmt.Errorf("%w: %w", errPoller, u.poller.Err())
	case u.failedSocket.Refused():
		return errors.New("the server's data port is closed: did the server end, or does a firewall reject UDP?")
	}
	return fmt.Errorf("data socket: %w", u.failedSocket.Err())
}

func (u *overUDP) close() { u.poller.Close() }
