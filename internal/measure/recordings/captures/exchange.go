package captures

import "nearfar/internal/onhost/capture"

// The reasons of exchanges.
const (
	// NoReply: no reply to the request was seen.
	NoReply reason = "no-reply"
	// Overlapping: several requests were under way, and nothing says to which a reply belongs.
	Overlapping reason = "overlapping"
	// Retransmitted: bytes of the request or the reply were seen more than once, at some point.
	Retransmitted reason = "retransmitted"
	// Repeated: several packets of a point look the same.
	Repeated reason = "repeated"
	// OtherCopy: what was seen at two points is not the same packet, by its identification of IP.
	OtherCopy reason = "other-copy"
	// Elsewhere: the exchange was not seen at every point.
	Elsewhere reason = "not-at-every-point"
	// Backwards: the reply has an earlier time than the request, since the clock was set meanwhile.
	Backwards reason = "backwards"
	// TooMany: beyond the most exchanges that are kept.
	TooMany reason = "too-many"
)

// A key names an exchange by its two packets, the same at all points. Of TCP these are the number behind the last byte
// of the request and that of the first byte of the reply, of datagrams hashes.
type key struct {
	port           uint16 // the client's
	request, reply uint64
	// turn counts exchanges of datagrams that look the same, from 0.
	turn uint32
}

// first is the key of the first exchange that looks the same.
func (k key) first() key {
	k.turn = 0
	return k
}

// A sight is a packet at a point.
type sight struct {
	time   int64
	ident  uint16
	length int32
}

// sameAs says whether the packet can be the one that was seen elsewhere. The segments of a packet that a device or the
// kernel cuts up or puts together have numbers of their own.
func (s sight) sameAs(o sight) bool {
	return s.length != o.length || s.ident == 0 || o.ident == 0 || s.ident == o.ident
}

// An exchange is a request and its reply at a point.
type exchange struct {
	request, reply sight
	repeated       bool
	contents       uint64 // of the request and its port, if it is a datagram
}

// A finder finds exchanges of one service in the packets of a point.
type finder struct {
	exchanges map[key]exchange
	unmatched map[reason]int
	tcp       map[uint16]*stream
	datagrams map[uint16]*asked
	pending   int // requests in datagrams
	// turns has the largest turn of exchanges that look the same. order is the number of all exchanges of datagrams, and a
	// hash of what they look like, one after the other.
	turns map[key]uint32
	order order
	// alike says of the contents of requests in datagrams whether several had them: nothing but the identification of IP
	// tells these apart.
	alike map[uint64]bool
	// spans are retransmitted bytes of requests and replies.
	requests, replies spans
}

// An order is what came one after the other.
type order struct {
	count       int
	hash        uint64
	first, last key
}

// next takes the next exchange.
func (o *order) next(k key) {
	const prime = 1099511628211
	if o.count++; o.count == 1 {
		o.first = k
	}
	o.last = k
	for _, n := range []uint64{uint64(k.port), k.request, k.reply} {
		o.hash = (o.hash ^ n) * prime
	}
}

func newFinder() *finder {
	return &finder{
		turns: map[key]uint32{}, alike: map[uint64]bool{}, exchanges: map[key]exchange{}, unmatched: map[reason]int{},
		tcp: map[uint16]*stream{}, datagrams: map[uint16]*asked{},
		requests: spans{of: map[uint16][]span{}}, replies: spans{of: map[uint16][]span{}},
	}
}

// add takes the next packet. toServer says in which direction it goes.
func (f *finder) add(p packet, toServer bool) {
	port := p.toPort
	if toServer {
		port = p.fromPort
	}
	switch {
	case p.protocol == capture.ProtoTCP:
		f.addTCP(p, port, toServer)
	case toServer:
		f.ask(p, port)
	default:
		f.answer(p, port)
	}
}

// keep keeps an exchange.
func (f *finder) keep(k key, e exchange) {
	if e.reply.time < e.request.time {
		f.unmatched[Backwards]++
		return
	}
	if before, twice := f.exchanges[k]; twice {
		before.repeated = true
		f.exchanges[k] = before
		return
	}
	if len(f.exchanges) == maxExchanges {
		f.unmatched[TooMany]++
		return
	}
	f.exchanges[k] = e
}

// keepNext keeps an exchange of datagrams, which may look like an earlier one. It gives the exchange's key.
func (f *finder) keepNext(k key, e exchange) key {
	f.order.next(k)
	if _, before := f.alike[e.contents]; before || len(f.alike) < maxExchanges {
		f.alike[e.contents] = before
	}
	if _, again := f.exchanges[k]; again {
		f.turns[k]++
		k.turn = f.turns[k]
	}
	f.keep(k, e)
	return k
}

// finish counts what is left.
func (f *finder) finish() {
	for _, s := range f.tcp {
		if s.open {
			f.unmatched[NoReply]++
		}
	}
	for _, a := range f.datagrams {
		f.unmatched[NoReply] += len(a.pending)
	}
}
