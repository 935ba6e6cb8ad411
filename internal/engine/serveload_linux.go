//go:build !portable

package engine

// The server's side of a load over TCP on Linux: one thread for all connections, over epoll.

func (d *dataServer) tcpLoadServer() (loadServer, error) {
	sockets, err := d.acceptAll()
	if err != nil {
		return nil, err
	}
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	s := &tcpLoadServer{poller: p, left: len(sockets), request: d.params.Request, response: d.params.Response,
		responses: newBuffer(d.params.Response * max(1, receiveBuffer/d.params.Response)), buffer: newBuffer(receiveBuffer),
		stalling: stalling{stall: d.stall}}
	for i, socket := range sockets {
		if err := p.add(socket, i); err != nil {
			p.close()
			return nil, err
		}
		s.conns = append(s.conns, servedConn{socket: socket})
	}
	return s, nil
}

// servedConn is one connection of a load at the server.
type servedConn struct {
	socket *socket
	// got is how much of the next request has come, in bytes; owed how many bytes of responses have not left.
	got, owed int
	ended     bool
}

// tcpLoadServer answers the requests of its connections, those of one in their order.
type tcpLoadServer struct {
	poller *poller
	conns  []servedConn
	// left is how many connections have not ended.
	left              int
	request, response int
	// responses are as many as one write may take, end to end.
	responses, buffer []byte
	stalling          stalling
	// transactions is the hot thread's until that has ended.
	transactions int64
}

//go:nosplit
func (s *tcpLoadServer) run() {
	s.stalling.start = nanotime()
	for s.left > 0 {
		n := s.poller.wait(-1)
		if n < 0 {
			return
		}
		for i := range n {
			index, read, write := s.poller.event(i)
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

// answer reads what has come and writes the responses. A client that does not read them is not read from either.
//
//go:nosplit
func (s *tcpLoadServer) answer(c *servedConn, index int) {
	n := c.socket.read(s.buffer)
	if n <= 0 {
		if n == 0 || !c.socket.timedOut() {
			s.end(c)
		}
		return
	}
	s.stalling.pass()
	requests := (c.got + n) / s.request
	c.got = (c.got + n) % s.request
	s.transactions += int64(requests)
	if c.owed = requests * s.response; c.owed > 0 && !s.send(c) {
		// The rest waits for room.
		if c.owed > 0 && !s.poller.interest(c.socket, index, false, true) {
			s.end(c)
		}
	}
}

// flush goes on sending, and reads again when all has left.
//
//go:nosplit
func (s *tcpLoadServer) flush(c *servedConn, index int) {
	if s.send(c) && !s.poller.interest(c.socket, index, true, false) {
		s.end(c)
	}
}

// send writes the responses that are owed, and returns true when all have left.
//
//go:nosplit
func (s *tcpLoadServer) send(c *servedConn) bool {
	for c.owed > 0 {
		// What is owed ends with the end of a response.
		at := (s.response - c.owed%s.response) % s.response
		n := c.socket.write(s.responses[at:min(at+c.owed, len(s.responses))])
		if n < 0 {
			if !c.socket.timedOut() {
				s.end(c)
			}
			return false
		}
		c.owed -= n
	}
	return true
}

//go:nosplit
func (s *tcpLoadServer) end(c *servedConn) {
	c.ended, c.owed = true, 0
	s.poller.forget(c.socket)
	s.left--
}

// stop does nothing: run ends with its connections.
func (s *tcpLoadServer) stop() {}

func (s *tcpLoadServer) into(r *report) {
	s.poller.close()
	r.Transactions = s.transactions
}
