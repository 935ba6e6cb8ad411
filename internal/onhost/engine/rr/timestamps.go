package rr

import (
	"math"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// Kernel timestamps divide a round trip. Both sides ask the kernel when a message left (tx) and when it arrived (rx),
// and read their own clock around their calls; the server returns its durations in the next response. Only differences
// within one host's clock are formed:
//
//	client       from the client's send call to its tx, and from its rx until its receive call has returned
//	server-stack from the server's rx until its receive call has returned, and from its send call to its tx
//	server-application  between the two calls
//	network      the client's rx minus its tx, less the time between the server's rx and tx
//
// So the parts add up to the round trip, whatever the clocks show. If a message takes several segments, the last one
// counts.
//
// tx and rx are the driver's timestamps, by the kernel's clock. If a NIC already stamps every packet on its own clock,
// the network is the time between the NICs: the time between driver and NIC then belongs to the client (client-nic) or
// to the server's stack.

// clockOffsetAge is after how many nanoseconds the offset between the clocks is read again.
const clockOffsetAge = 1_000_000_000

// A clockOffset is how far the kernel's clock for timestamps (real time) is ahead of the engine's (monotonic), in
// nanoseconds. It is known to about 20 ns. The error only shifts time between a host's sending and its receiving. It
// is constant unless a clock is set.
type clockOffset struct{ ahead, read int64 }

// refresh reads the offset again if it is old. It is called between two transactions.
//
//go:nosplit
func (o *clockOffset) refresh(now int64) {
	if o.read != 0 && now-o.read < clockOffsetAge {
		return
	}
	least := int64(math.MaxInt64)
	for range 5 {
		before := timing.Now()
		wall := time.Now().UnixNano()
		after := timing.Now()
		if after-before < least {
			least = after - before
			o.ahead = wall - (before + (after-before)/2)
		}
	}
	o.read = now
}

// exchanger carries out one transaction that begins at start.
type exchanger interface {
	exchange(start int64) (now int64, answered, ok bool)
	err() error
}

// tcpExchanger is the exchanger over TCP.
type tcpExchanger struct {
	socket            *sys.StampedSocket
	request, response []byte
}

//go:nosplit
func (c *tcpExchanger) exchange(start int64) (now int64, answered, ok bool) {
	n := c.socket.Socket.Write(c.request)
	if n != len(c.request) && !sys.WriteRest(c.socket.Socket, c.request, n) || !c.socket.ReadAll(c.response) {
		return start, false, false
	}
	return timing.Now(), true, true
}

func (c *tcpExchanger) err() error { return sys.ConnectionError(c.socket.Socket) }

// stampedClient is the client's side of rr with timestamps.
type stampedClient struct {
	exchanger exchanger
	socket    *sys.StampedSocket
	// flags is the byte of the request with the flags, stamps the part of the response with the server's stamps.
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
func newStampedTCP(s *sys.Socket, request, response int) (*stampedClient, error) {
	stamped, err := sys.NewStampedSocket(s, request)
	if err != nil {
		return nil, err
	}
	e := &tcpExchanger{socket: stamped, request: sys.NewBuffer(request), response: sys.NewBuffer(response)}
	c := &stampedClient{exchanger: e, socket: stamped, flags: &e.request[0], stamps: e.response[:wire.StampsSize],
		divider: newDivider(), overhead: newOverhead()}
	return c, c.open()
}

// newStampedUDP makes a client with timestamps from one that has been answered already.
func newStampedUDP(u *udpClient) (*stampedClient, error) {
	stamped, err := sys.NewStampedSocket(u.socket, 1)
	if err != nil {
		return nil, err
	}
	u.stamped = stamped
	c := &stampedClient{exchanger: u, socket: stamped, flags: &u.request[wire.FlagsOffset], number: u.sequence,
		stamps: u.response[wire.StampsOffset : wire.StampsOffset+wire.StampsSize], divider: newDivider(),
		overhead: newOverhead()}
	return c, c.open()
}

func (c *stampedClient) err() error {
	if c.failure != nil {
		return c.failure
	}
	return c.exchanger.err()
}

// run is the hot loop of the window. Without a histogram it is the warm-up, which measures the cost of the
// timestamps. Work for the timestamps is done outside of the round trips as far as possible.
func (c *stampedClient) run(h *observe.Histogram, until int64) (int64, bool) {
	if h == nil {
		return c.warmUp(until)
	}
	*c.flags = wire.FlagStamped | wire.FlagCounted
	return c.slice(h, until)
}

// slice carries out transactions until the given time.
//
//go:nosplit
func (c *stampedClient) slice(h *observe.Histogram, until int64) (int64, bool) {
	for {
		start := timing.Now()
		now, answered, ok := c.exchanger.exchange(start)
		if !ok {
			return start, false
		}
		if answered && h != nil {
			h.Observe(start, now)
		}
		c.number++
		if c.socket.On {
			c.note(start, now, answered)
		}
		if now >= until {
			return now, true
		}
	}
}

// note takes the stamps of the transaction that has just ended, and completes the previous one with the server's
// stamps.
//
//go:nosplit
func (c *stampedClient) note(start, end int64, answered bool) {
	c.socket.Sent++
	current := stampedTransaction{number: c.number, start: start, end: end, counted: *c.flags&wire.FlagCounted != 0,
		Stamps: sys.Stamps{ID: c.socket.LastID(), Rx: c.socket.Rx, RxHardware: c.socket.RxHardware}}
	c.socket.Transmits(&current.Stamps, &c.previous.Stamps)
	if answered {
		c.divider.complete(&c.previous, wire.ReadServerStamps(c.stamps))
		c.previous = current
	} else {
		c.previous = stampedTransaction{}
	}
	c.divider.offset.refresh(end)
}

// finish carries out one more transaction, to get the server's stamps of the window's last one.
func (c *stampedClient) finish() bool {
	*c.flags = wire.FlagStamped
	_, ok := c.slice(nil, 0)
	return ok
}

// firstStamps is how long the first timestamps may take, because the kernel turns them on at a time of its choice.
// laterStamps is for turning them on again.
const (
	firstStamps = time.Second
	laterStamps = 5 * time.Millisecond
)

// turn switches the timestamps of both sides on or off; the request tells the server. Then it waits for the first
// stamps, at most for the given time.
func (c *stampedClient) turn(on bool, patience time.Duration) bool {
	if c.failure = c.socket.Turn(on); c.failure != nil {
		return false
	}
	*c.flags, c.previous = 0, stampedTransaction{}
	if on {
		*c.flags = wire.FlagStamped
	}
	before := c.divider.settled
	for deadline := timing.Now() + int64(patience); ; {
		now, ok := c.slice(nil, 0)
		if !ok || !on || c.divider.settled > before || now > deadline {
			return ok
		}
	}
}

// leastSlice is the shortest time in which the cost of the timestamps is measured.
const leastSlice = int64(2 * time.Millisecond)

// overheadSlices is how many slices the warm-up has, alternately with and without timestamps. The first two are not
// counted.
const overheadSlices = 12

// warmUp alternates between running with and without timestamps until the given time, and leaves them on.
func (c *stampedClient) warmUp(until int64) (int64, bool) {
	now := timing.Now()
	if length := (until - now) / overheadSlices; length >= leastSlice {
		for i := range overheadSlices {
			on := i%2 == 1
			if !c.turn(on, laterStamps) {
				return now, false
			}
			var h *observe.Histogram
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

// open carries out the first transactions. The first one has no timestamps, so that no other message is under way when
// the kernel begins to number messages. The next ones are repeated until stamps come.
func (c *stampedClient) open() error {
	if !c.turn(false, 0) || !c.turn(true, firstStamps) {
		return c.err()
	}
	return nil
}

// overhead holds the round trips with and without timestamps, from alternating slices of the warm-up.
type overhead struct{ with, without *observe.Histogram }

func newOverhead() overhead {
	return overhead{with: observe.NewHistogram(), without: observe.NewHistogram()}
}
