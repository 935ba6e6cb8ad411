//go:build !linux || portable

package load

import (
	"sync"

	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// The server of a load over TCP on systems other than Linux: a goroutine for each connection.

func newTCPServer(d *session.Server) (server, error) {
	sockets, err := d.AcceptAll()
	if err != nil {
		return nil, err
	}
	return &tcpServer{sockets: sockets, request: d.Params.Request, response: d.Params.Response,
		responses: sys.NewBuffer(d.Params.Response * max(1, readerBuffer/d.Params.Response)), stall: d.Stall,
		transactions: make([]int64, len(sockets))}, nil
}

// tcpServer answers the requests of its connections, those of one connection in order.
type tcpServer struct {
	sockets           []*sys.Socket
	request, response int
	// responses is a row of responses for one write.
	responses []byte
	stall     timing.Stall
	// transactions are the counts of the connections. Each goroutine owns one until run has ended.
	transactions []int64
}

// run ends with its connections.
func (s *tcpServer) run() {
	start := timing.Now()
	var all sync.WaitGroup
	for i, socket := range s.sockets {
		all.Go(func() { s.transactions[i] = s.serve(socket, timing.Stalling{Stall: s.stall, Start: start}) })
	}
	all.Wait()
}

// serve reads requests and writes the responses until the connection ends, and returns how many it answered. It does
// not read from a client that does not read the responses.
func (s *tcpServer) serve(socket *sys.Socket, stalling timing.Stalling) (answered int64) {
	buffer := make([]byte, readerBuffer)
	for got := 0; ; {
		n := socket.Read(buffer)
		if n <= 0 {
			return answered
		}
		stalling.Pass()
		requests := (got + n) / s.request
		got = (got + n) % s.request
		for left := requests * s.response; left > 0; {
			b := s.responses[:min(left, len(s.responses))]
			if !sys.WriteRest(socket, b, 0) {
				return answered
			}
			left -= len(b)
		}
		answered += int64(requests)
	}
}

// stop does nothing: run ends with its connections.
func (s *tcpServer) stop() {}

func (s *tcpServer) into(r *wire.Report) {
	for _, n := range s.transactions {
		r.Transactions += n
	}
}
