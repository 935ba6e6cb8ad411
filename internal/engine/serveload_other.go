//go:build !linux || portable

package engine

import "sync"

// The server's side of a load over TCP elsewhere than on Linux: a goroutine for each connection.

func (d *dataServer) tcpLoadServer() (loadServer, error) {
	sockets, err := d.acceptAll()
	if err != nil {
		return nil, err
	}
	return &tcpLoadServer{sockets: sockets, request: d.params.Request, response: d.params.Response,
		responses: newBuffer(d.params.Response * max(1, readerBuffer/d.params.Response)), stall: d.stall,
		transactions: make([]int64, len(sockets))}, nil
}

// tcpLoadServer answers the requests of its connections, those of one in their order.
type tcpLoadServer struct {
	sockets           []*socket
	request, response int
	// responses are as many as one write may take, end to end.
	responses []byte
	stall     Stall
	// transactions are those of each connection: its goroutine's until run has ended.
	transactions []int64
}

// run ends with its connections.
func (s *tcpLoadServer) run() {
	start := nanotime()
	var all sync.WaitGroup
	for i, socket := range s.sockets {
		all.Go(func() { s.transactions[i] = s.serve(socket, stalling{stall: s.stall, start: start}) })
	}
	all.Wait()
}

// serve reads what has come and writes the responses until the connection ends, and returns how many were answered. A
// client that does not read them is not read from either.
func (s *tcpLoadServer) serve(socket *socket, stalling stalling) (answered int64) {
	buffer := make([]byte, readerBuffer)
	for got := 0; ; {
		n := socket.read(buffer)
		if n <= 0 {
			return answered
		}
		stalling.pass()
		requests := (got + n) / s.request
		got = (got + n) % s.request
		for left := requests * s.response; left > 0; {
			b := s.responses[:min(left, len(s.responses))]
			if !writeRest(socket, b, 0) {
				return answered
			}
			left -= len(b)
		}
		answered += int64(requests)
	}
}

// stop does nothing: run ends with its connections.
func (s *tcpLoadServer) stop() {}

func (s *tcpLoadServer) into(r *report) {
	for _, n := range s.transactions {
		r.Transactions += n
	}
}
