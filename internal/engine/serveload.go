package engine

import (
	"fmt"
	"sync/atomic"
	"time"
)

// openingTime is how often the client repeats the datagram that opens a load over UDP.
const openingTime = 100 * time.Millisecond

// serveLoad answers the requests of many connections on one thread, as many under way as the client likes.
func (d *dataServer) serveLoad() error {
	var err error
	var s loadServer
	if d.params.Protocol == UDP {
		s, err = d.udpLoadServer()
	} else {
		s, err = d.tcpLoadServer()
	}
	if err != nil {
		return err
	}
	if err := d.frames.expect(frameStart, nil); err != nil {
		return err
	}
	d.done.Facts = serverFacts(d.sockets[0])
	account := startAccount()
	d.run(nil, s.run, s.stop)
	if err := d.frames.write(frameBegin, nil); err != nil {
		return err
	}
	err = d.awaitStop()
	account.into(&d.done)
	d.close()
	s.into(&d.done)
	return err
}

// A loadServer answers until it is stopped and its sockets are interrupted.
type loadServer interface {
	run()
	stop()
	into(*report)
}

// udpLoadServer waits for the first datagram of the session, answers it, and returns what answers the others: those with
// the cookie from the client's address, from any of its ports.
func (d *dataServer) udpLoadServer() (loadServer, error) {
	socket, err := newSocket(d.udp)
	if err != nil {
		return nil, err
	}
	d.udp = nil
	d.sockets = append(d.sockets, socket)
	if err := socket.prepare(d.params); err != nil {
		return nil, err
	}
	// So that an interrupted thread ends whatever comes.
	if err := socket.setReceiveTimeout(openingTime); err != nil {
		return nil, err
	}
	peer, err := newPeerSocket(socket, d.peer)
	if err != nil {
		return nil, err
	}
	s := &udpLoadServer{socket: peer, cookie: d.secret, request: d.params.Request, response: d.params.Response,
		buffer: newBuffer(d.params.Request + 1), arrivals: make([]arrivals, d.params.Connections), stalling: stalling{stall: d.stall}}
	for deadline := time.Now().Add(handshakeTime); !s.exchange(); {
		if d.gone.Err() != nil {
			return nil, errClientGone
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no datagram of the session came within %v: is UDP port %d open?", handshakeTime, d.number)
		}
	}
	return s, nil
}

// udpLoadServer answers datagrams.
type udpLoadServer struct {
	socket            *peerSocket
	cookie            cookie
	request, response int
	buffer            []byte
	stalling          stalling
	stopped           atomic.Bool
	// What follows is the hot thread's until that has ended.
	arrivals     []arrivals // of each of the client's sockets
	requests     datagramReport
	transactions int64
	failed       bool
}

//go:nosplit
func (s *udpLoadServer) run() {
	s.stalling.start = nanotime()
	for !s.stopped.Load() && !s.failed {
		s.exchange()
	}
}

// exchange takes one datagram and answers it, if it is the session's, of the agreed size, from the client's address and
// has not come before: with no more bytes than it has. It says whether it answered.
//
//go:nosplit
func (s *udpLoadServer) exchange() bool {
	n := s.socket.receive(s.buffer)
	if n < 0 {
		s.failed = !s.socket.timedOut() && !s.socket.noBuffers() && !s.socket.refused()
		return false
	}
	if n != s.request || !s.socket.fromPeer() || !sameCookie(s.buffer, s.cookie[:]) {
		return false
	}
	// The opening datagram has the number 0 and may be repeated.
	if sequence := sequenceOf(s.buffer); sequence > 0 {
		s.stalling.pass()
		// The client's sockets take turns; there is an order among the datagrams of one.
		flows := uint64(len(s.arrivals))
		a := s.arrivals[(sequence-1)%flows].add((sequence-1)/flows + 1)
		if s.buffer[flagsOffset]&flagCounted != 0 {
			s.requests.count(a)
		}
		if a == duplicate {
			return false
		}
	}
	// A reply that cannot be sent is lost like a datagram on the way: the client counts it.
	if s.socket.answer(s.buffer[:s.response]) != s.response {
		return false
	}
	s.transactions++
	return true
}

func (s *udpLoadServer) stop() { s.stopped.Store(true) }

func (s *udpLoadServer) into(r *report) { r.Transactions, r.Requests = s.transactions, s.requests }
