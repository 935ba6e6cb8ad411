package captures

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
}

// A finder finds exchanges of one service in the packets of a point.
type finder struct {
	exchanges map[key]exchange
	unmatched map[reason]int
	tcp       map[uint16]*stream
	datagrams map[uint16]*asked
	pending   int // requests in datagrams
	// spans are retransmitted bytes of requests and replies.
	requests, replies spans
}

func newFinder() *finder {
	return &finder{
		exchanges: map[key]exchange{}, unmatched: map[reason]int{}, tcp: map[uint16]*stream{},
		datagrams: map[uint16]*asked{}, requests: spans{of: map[uint16][]span{}}, replies: spans{of: map[uint16][]span{}},
	}
}

// add takes the next packet. toServer says in which direction it goes.
func (f *finder) add(p packet, toServer bool) {
	port := p.toPort
	if toServer {
		port = p.fromPort
	}
	switch {
	case p.protocol == protoTCP:
		f.addTCP(p, port, toServer)
	case toServer:
		f.ask(p, port)
	default:
		f.answer(p, port)
	}
}

// found keeps an exchange.
func (f *finder) found(k key, e exchange) {
	if before, twice := f.exchanges[k]; twice {
		before.repeated = true
		f.exchanges[k] = before
		return
	}
	if e.reply.time < e.request.time {
		f.unmatched[Backwards]++
		return
	}
	if len(f.exchanges) == maxExchanges {
		f.unmatched[TooMany]++
		return
	}
	f.exchanges[k] = e
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
