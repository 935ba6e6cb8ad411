//go:build !portable

package load

import (
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// The server of a load over TCP on Linux: one thread for all connections, with epoll.

func newTCPServer(d *session.Server) (server, error) {
	sockets, err := d.AcceptAll()
	if err != nil {
		return nil, err
	}
	p, err := sys.NewPollerOf(sockets)
	if err != nil {
		return nil, err
	}
	s := &tcpServer{poller: p, left: len(sockets), request: d.Params.Request, response: d.Params.Response,
		responses: sys.NewBuffer(d.Params.Response * max(1, sys.ReadSize/d.Params.Response)),
		buffer:    sys.NewBuffer(sys.ReadSize),
		stalling:  timing.Stalling{Stall: d.Stall}}
	for _, socket := range sockets {
		s.conns = append(s.conns, servedConn{socket: socket})
	}
	return s, nil
}

// servedConn is one connection at the server.
type servedConn struct {
	socket *sys.Socket
	// got is how many bytes of the next request have come, owed how many bytes of responses are not sent yet.
	got, owed int
	ended     bool
}

// tcpServer answers the requests of its connections, those of one connection in order.
type tcpServer struct {
	poller *sys.Poller
	conns  []servedConn
	// left is how many connections have not ended.
	left              int
	request, response int
	// responses is a row of responses for one write.
	responses, buffer []byte
	stalling          timing.Stalling
	// The hot thread owns transactions until it has ended.
	transactions int64
}

//go:nosplit
func (s *tcpServer) run() {
	s.stalling.Start = timing.Now()
	for s.left > 0 {
		n := s.poller.Wait(-1)
		if n < 0 {
			return
		}
		for i := range n {
			index, read, write := s.poller.Event(i)
			c := &s.conns[index]
			switch {
			case c.ended:
			case c.owed > 0 && write:
				s.flush(c, index)
			case c.owed == 0 && read:
				s.answer(c, index)
			}
		}
	}
}

// answer reads requests and writes the responses. It does not read from a client that does not read the responses.
//
//go:nosplit
func (s *tcpServer) answer(c *servedConn, index int) {
	n := c.socket.Read(s.buffer)
	if n <= 0 {
		if n == 0 || !c.socket.TimedOut() {
			s.end(c)
		}
		return
	}
	s.stalling.Pass()
	requests := (c.got + n) / s.request
	c.got = (c.got + n) % s.request
	s.transactions += int64(requests)
	if c.owed = requests * s.response; c.owed > 0 && !s.send(c) {
		// The rest waits for room.
		if c.owed > 0 && !s.poller.Interest(c.socket, index, false, true) {
			s.end(c)
		}
	}
}

// flush continues to send. When everything has left it reads again.
//
//go:nosplit
func (s *tcpServer) flush(c *servedConn, index int) {
	if s.send(c) && !s.poller.Interest(c.socket, index, true, false) {
		s.end(c)
	}
}

// send writes the owed bytes of responses, and returns true when all are sent.
//
//go:nosplit
func (s *tcpServer) send(c *servedConn) bool {
	for c.owed > 0 {
		// The last of the owed bytes is the last byte of a response. This gives the position in the current response.
		at := (s.response - c.owed%s.response) % s.response
		n := c.socket.Write(s.responses[at:min(at+c.owed, len(s.responses))])
		if n < 0 {
			if !c.socket.TimedOut() {
				s.end(c)
			}
			return false
		}
		c.owed -= n
	}
	return true
}

//go:nosplit
func (s *tcpServer) end(c *servedConn) {
	c.ended, c.owed = true, 0
	s.poller.Forget(c.socket)
	s.left--
}

// stop does nothing: run ends with its connections.
func (s *tcpServer) stop() {}

func (s *tcpServer) into(r *wire.Report) {
	s.poller.Close()
	r.Transactions = s.transactions
}
