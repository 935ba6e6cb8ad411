package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Kernel timestamps divide a round trip. Both sides ask the kernel when a message left (tx) and when it arrived (rx), and
// read their own clock around their calls; the server returns its durations in the next response. Only differences within
// one host's clock are formed:
//
//	client       from the client's send call to its tx, and from its rx until its receive call has returned
//	server-stack from the server's rx until its receive call has returned, and from its send call to its tx
//	server-application  between the two calls
//	network      the client's rx minus its tx, less what the server had it
//
// so the parts add up to the round trip, whatever the clocks show. Where a message takes several segments, the last one
// counts.
//
// tx and rx are the driver's, by the kernel's clock. Where a NIC stamps every packet on its own clock already, the network
// is what lies between the NICs: the time between driver and NIC then belongs to the client (client-nic) or to
// the server's stack.

// stampsSize is the length of the server's stamps in a response.
const stampsSize = 16

// stampsOffset is where they are in a datagram; over TCP they come first.
const stampsOffset = datagramHeader

// noDuration stands for a duration that is not known.
const noDuration = math.MinInt32

// serverStamps are the durations that the server had one request, in nanoseconds, noDuration where not known. Receive and
// send can be negative by what the comparison of two clocks is off; their sum is not touched by that.
type serverStamps struct {
	// sequence is the number of the request, its low 32 bits.
	sequence uint32
	// receive is from the request's arrival until the receive call returned, application until the send call, send
	// until the response left.
	receive, application, send int32
}

//go:nosplit
func putServerStamps(b []byte, s serverStamps) {
	binary.BigEndian.PutUint32(b[0:4], s.sequence)
	binary.BigEndian.PutUint32(b[4:8], uint32(s.receive))
	binary.BigEndian.PutUint32(b[8:12], uint32(s.application))
	binary.BigEndian.PutUint32(b[12:16], uint32(s.send))
}

//go:nosplit
func serverStampsOf(b []byte) serverStamps {
	return serverStamps{sequence: binary.BigEndian.Uint32(b[0:4]), receive: int32(binary.BigEndian.Uint32(b[4:8])),
		application: int32(binary.BigEndian.Uint32(b[8:12])), send: int32(binary.BigEndian.Uint32(b[12:16]))}
}

// duration puts nanoseconds into a stamp; known is false where one of its ends is missing.
//
//go:nosplit
func duration(ns int64, known bool) int32 {
	if !known || ns <= noDuration || ns > math.MaxInt32 {
		return noDuration
	}
	return int32(ns)
}

// clockOffsetAge is after how many nanoseconds the offset between the clocks is read again.
const clockOffsetAge = 1_000_000_000

// A clockOffset is what the kernel's clock of timestamps (real time) is ahead of the engine's (monotonic), in nanoseconds.
// It is known to some 20 ns, which only shifts between a host's sending and its receiving, and stays but for a clock
// that is set.
type clockOffset struct{ ahead, read int64 }

// refresh reads the offset again when it is old. It is called between two transactions.
//
//go:nosplit
func (o *clockOffset) refresh(now int64) {
	if o.read != 0 && now-o.read < clockOffsetAge {
		return
	}
	least := int64(math.MaxInt64)
	for range 5 {
		before := nanotime()
		wall := time.Now().UnixNano()
		after := nanotime()
		if after-before < least {
			least = after - before
			o.ahead = wall - (before + (after-before)/2)
		}
	}
	o.read = now
}

// validateTimestamps says what of the parameters timestamps do not go with.
func (p Params) validateTimestamps() error {
	if !p.Timestamps {
		return nil
	}
	least := stampsSize
	if p.Protocol == UDP {
		least += stampsOffset
	}
	switch {
	case p.Mode != ModeRR:
		return fmt.Errorf("timestamps are of %s, not of %s", ModeRR, p.Mode)
	case p.waiting() == WaitEpoll:
		return fmt.Errorf("timestamps and wait %q: the reports of sending end every wait in epoll_wait at once; wait in another way", p.Wait)
	case p.Response < least:
		return fmt.Errorf("response of %d bytes: with timestamps it must have at least %d over %s, for the server returns its own in it", p.Response, least, p.Protocol)
	}
	return nil
}

// exchanger carries out one transaction; start is the clock before it.
type exchanger interface {
	exchange(start int64) (now int64, answered, ok bool)
	err() error
}

// tcpExchanger is the one over TCP.
type tcpExchanger struct {
	socket            *stampedSocket
	request, response []byte
}

//go:nosplit
func (c *tcpExchanger) exchange(start int64) (now int64, answered, ok bool) {
	n := c.socket.socket.write(c.request)
	if n != len(c.request) && !writeRest(c.socket.socket, c.request, n) || !c.socket.readAll(c.response) {
		return start, false, false
	}
	return nanotime(), true, true
}

func (c *tcpExchanger) err() error { return connectionError(c.socket.socket) }

// readAll fills b; false when the connection ended or failed. The arrival is that of the last segment.
//
//go:nosplit
func (s *stampedSocket) readAll(b []byte) bool {
	for len(b) > 0 {
		n := s.read(b)
		if n <= 0 {
			if n == 0 {
				s.socket.setEnded()
			}
			return false
		}
		b = b[n:]
	}
	return true
}

// stampedClient is the client's side of rr with timestamps.
type stampedClient struct {
	exchanger exchanger
	socket    *stampedSocket
	// flags is the byte of the request that says what is asked for, stamps where the response has the server's.
	flags  *byte
	stamps []byte
	number uint64
	// previous is the transaction whose server stamps come with the next response.
	previous stampedTransaction
	divider  divider
	overhead overhead
	failure  error
}

// newStampedTCP prepares a client on a data connection, and carries out its first transactions.
func newStampedTCP(s *socket, request, response int) (*stampedClient, error) {
	stamped, err := newStampedSocket(s, request)
	if err != nil {
		return nil, err
	}
	e := &tcpExchanger{socket: stamped, request: newBuffer(request), response: newBuffer(response)}
	c := &stampedClient{exchanger: e, socket: stamped, flags: &e.request[0], stamps: e.response[:stampsSize],
		divider: newDivider(), overhead: newOverhead()}
	return c, c.open()
}

// newStampedUDP makes a client with timestamps of one that has been answered already.
func newStampedUDP(u *udpClient) (*stampedClient, error) {
	stamped, err := newStampedSocket(u.socket, 1)
	if err != nil {
		return nil, err
	}
	u.stamped = stamped
	c := &stampedClient{exchanger: u, socket: stamped, flags: &u.request[flagsOffset], number: u.sequence,
		stamps: u.response[stampsOffset : stampsOffset+stampsSize], divider: newDivider(), overhead: newOverhead()}
	return c, c.open()
}

func (c *stampedClient) err() error {
	if c.failure != nil {
		return c.failure
	}
	return c.exchanger.err()
}

// run is the hot loop of the window; without a histogram it is the warm-up, in which the cost of the timestamps is
// measured. What is done for the timestamps is done outside of the round trips as far as possible.
func (c *stampedClient) run(h *Histogram, until int64) (int64, bool) {
	if h == nil {
		return c.warmUp(until)
	}
	*c.flags = flagStamped | flagCounted
	return c.slice(h, until)
}

// slice carries out transactions until the given time.
//
//go:nosplit
func (c *stampedClient) slice(h *Histogram, until int64) (int64, bool) {
	for {
		start := nanotime()
		now, answered, ok := c.exchanger.exchange(start)
		if !ok {
			return start, false
		}
		if answered && h != nil {
			h.observe(start, now)
		}
		c.number++
		if c.socket.on {
			c.note(start, now, answered)
		}
		if now >= until {
			return now, true
		}
	}
}

// note takes the stamps of the transaction that has just ended, and completes the one before with what the server said
// of it.
//
//go:nosplit
func (c *stampedClient) note(start, end int64, answered bool) {
	c.socket.sent++
	current := stampedTransaction{number: c.number, id: c.socket.lastID(), start: start, end: end,
		rx: c.socket.rx, rxHardware: c.socket.rxHardware, counted: *c.flags&flagCounted != 0}
	c.socket.transmits(&current, &c.previous)
	if answered {
		c.divider.complete(&c.previous, serverStampsOf(c.stamps))
		c.previous = current
	} else {
		c.previous = stampedTransaction{}
	}
	c.divider.offset.refresh(end)
}

// finish carries out one more transaction, with which the stamps of the window's last one come.
func (c *stampedClient) finish() bool {
	*c.flags = flagStamped
	_, ok := c.slice(nil, 0)
	return ok
}

// firstStamps is how long the first timestamps may take: the kernel begins with them when it finds the time for it.
// laterStamps is for those after they have been off.
const (
	firstStamps = time.Second
	laterStamps = 5 * time.Millisecond
)

// turn switches the timestamps of both sides on or off: the request says so to the server. Then it waits so long at most
// until the first stamps have come.
func (c *stampedClient) turn(on bool, patience time.Duration) bool {
	if c.failure = c.socket.turn(on); c.failure != nil {
		return false
	}
	*c.flags, c.previous = 0, stampedTransaction{}
	if on {
		*c.flags = flagStamped
	}
	before := c.divider.settled
	for deadline := nanotime() + int64(patience); ; {
		now, ok := c.slice(nil, 0)
		if !ok || !on || c.divider.settled > before || now > deadline {
			return ok
		}
	}
}

// leastSlice is the shortest time for which the cost of the timestamps is measured with and without them.
const leastSlice = int64(2 * time.Millisecond)

// overheadSlices is how many slices of the warm-up go with and without timestamps in turn; the first two are not counted.
const overheadSlices = 12

// warmUp goes with and without timestamps in turn until the given time, and leaves them on.
func (c *stampedClient) warmUp(until int64) (int64, bool) {
	now := nanotime()
	if length := (until - now) / overheadSlices; length >= leastSlice {
		for i := range overheadSlices {
			on := i%2 == 1
			if !c.turn(on, laterStamps) {
				return now, false
			}
			var h *Histogram
			if i >= 2 {
				h = c.overhead.without
				if on {
					h = c.overhead.with
				}
			}
			var ok bool
			if now, ok = c.slice(h, until-int64(overheadSlices-1-i)*length); !ok {
				return now, false
			}
		}
		return now, true
	}
	return c.slice(nil, until)
}

// open carries out the first transactions: one without timestamps, so that nothing else is on the way when the kernel
// begins to number what is sent, and then those until the stamps come.
func (c *stampedClient) open() error {
	if !c.turn(false, 0) || !c.turn(true, firstStamps) {
		return c.err()
	}
	return nil
}

// overhead holds the round trips with and without timestamps, of slices of the warm-up in turn.
type overhead struct{ with, without *Histogram }

func newOverhead() overhead { return overhead{with: NewHistogram(), without: NewHistogram()} }
