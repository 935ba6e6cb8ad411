package load

import (
	"fmt"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// openingTime is how often the client repeats the datagram that opens a load over UDP.
const openingTime = 100 * time.Millisecond

// Serve answers the requests of many connections on one thread, any number of which may be under way.
func Serve(d *session.Server) error {
	var err error
	var s server
	if d.Params.Protocol == wire.UDP {
		s, err = newUDPServer(d)
	} else {
		s, err = newTCPServer(d)
	}
	if err != nil {
		return err
	}
	if err := d.Frames.Expect(wire.KindStart, nil); err != nil {
		return err
	}
	d.Done.Facts = session.ServerFacts(d.Sockets[0])
	account := process.StartAccount()
	d.Run(nil, s.run, s.stop)
	if err := d.Frames.Write(wire.KindBegin, nil); err != nil {
		return err
	}
	err = d.Finish(account)
	s.into(&d.Done)
	return err
}

// A server answers until it is stopped and its sockets are interrupted.
type server interface {
	run()
	stop()
	into(*wire.Report)
}

// newUDPServer waits for the first datagram of the session and answers it. The server that it returns answers the
// others: datagrams with the cookie, from any port of the first one's address, or from any address if clients may move.
func newUDPServer(d *session.Server) (server, error) {
	socket, err := sys.New(d.UDP)
	if err != nil {
		return nil, err
	}
	d.UDP = nil
	d.Sockets = append(d.Sockets, socket)
	if err := socket.Prepare(d.Params); err != nil {
		return nil, err
	}
	// The time limit makes an interrupted thread end in any case.
	if err := socket.SetReceiveTimeout(openingTime); err != nil {
		return nil, err
	}
	peer, err := sys.NewPeerSocket(socket)
	if err != nil {
		return nil, err
	}
	s := &udpServer{socket: peer, cookie: d.Secret, request: d.Params.Request, response: d.Params.Response,
		buffer: sys.NewBuffer(d.Params.Request + 1), arrivals: make([]observe.Arrivals, d.Params.Connections),
		stalling: timing.Stalling{Stall: d.Stall}}
	for deadline := time.Now().Add(wire.HandshakeTime); !s.take() || !d.Serves(peer.From()) || !s.reply(); {
		if d.Gone.Err() != nil {
			return nil, session.ErrClientGone
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no datagram of the session came within %v: is UDP port %d open?",
				wire.HandshakeTime, d.Number)
		}
	}
	if !d.Moving {
		peer.Pin()
		s.pinned = true
	}
	return s, nil
}

// udpServer answers datagrams.
type udpServer struct {
	// pinned says that only datagrams of the socket's pinned address are answered.
	pinned            bool
	socket            *sys.PeerSocket
	cookie            wire.Cookie
	request, response int
	buffer            []byte
	stalling          timing.Stalling
	stopped           atomic.Bool
	// The hot thread owns the following fields until it has ended.
	arrivals     []observe.Arrivals // of each of the client's sockets
	requests     wire.DatagramReport
	transactions int64
	failed       bool
}

//go:nosplit
func (s *udpServer) run() {
	s.stalling.Start = timing.Now()
	for !s.stopped.Load() && !s.failed {
		s.exchange()
	}
}

// exchange takes one datagram and answers it if it should be.
//
//go:nosplit
func (s *udpServer) exchange() {
	if s.take() {
		s.reply()
	}
}

// take takes one datagram and says whether to answer it: if it has the session's cookie and the agreed size, comes from
// the client's address, and is no duplicate.
//
//go:nosplit
func (s *udpServer) take() bool {
	n := s.socket.Receive(s.buffer)
	if n < 0 {
		s.failed = !s.socket.TimedOut() && !s.socket.NoBuffers() && !s.socket.Refused()
		return false
	}
	if n != s.request || !wire.SameCookie(s.buffer, s.cookie[:]) || s.pinned && !s.socket.IsPinned() {
		return false
	}
	// The opening datagram has the number 0 and may come several times.
	if sequence := wire.Sequence(s.buffer); sequence > 0 {
		s.stalling.Pass()
		// The client's sockets take turns. Only datagrams of one socket have an order.
		flows := uint64(len(s.arrivals))
		a := s.arrivals[(sequence-1)%flows].Add((sequence-1)/flows + 1)
		if s.buffer[wire.FlagsOffset]&wire.FlagCounted != 0 {
			a.CountIn(&s.requests)
		}
		if a == observe.Duplicate {
			return false
		}
	}
	return true
}

// reply answers the last datagram, with no more bytes than that has, and says whether the answer left. One that cannot
// be sent is lost like a datagram in the network: the client counts it.
//
//go:nosplit
func (s *udpServer) reply() bool {
	if s.socket.Answer(s.buffer[:s.response]) != s.response {
		return false
	}
	s.transactions++
	return true
}

func (s *udpServer) stop() { s.stopped.Store(true) }

func (s *udpServer) into(r *wire.Report) { r.Transactions, r.Requests = s.transactions, s.requests }
