package rr

import (
	"fmt"
	"sync/atomic"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// The server's side of rr with timestamps.

// stampedServer takes the timestamps of one session on the server.
type stampedServer struct {
	socket *sys.StampedSocket
	offset clockOffset
	// last has the stamps of the last request that was answered. current and before are the transactions of the last
	// two.
	last            wire.ServerStamps
	current, before stampedTransaction
	failure         error
	// onHardware counts the requests that the NIC stamped in both directions.
	onHardware int64
}

func newStampedServer(s *sys.Socket, unit int) (*stampedServer, error) {
	stamped, err := sys.NewStampedSocket(s, unit)
	if err != nil {
		return nil, err
	}
	if err := stamped.Turn(false); err != nil {
		return nil, err
	}
	return &stampedServer{socket: stamped, last: wire.ServerStamps{Receive: wire.NoDuration,
		Application: wire.NoDuration, Send: wire.NoDuration}}, nil
}

// received handles a request that has just been read: it turns the timestamps on or off as the flags ask, and puts
// the stamps of the previous request into the response. False if the kernel refuses the timestamps.
//
//go:nosplit
func (s *stampedServer) received(flags byte, response []byte, sequence uint32) bool {
	now := timing.Now()
	if on := flags&wire.FlagStamped != 0; on != s.socket.On {
		if s.failure = s.socket.Turn(on); s.failure != nil {
			return false
		}
		s.offset.refresh(now)
		s.socket.Rx, s.socket.RxHardware = 0, 0
	}
	if s.current.RxHardware != 0 {
		s.settle()
	}
	wire.PutServerStamps(response, s.last)
	rx := s.socket.Rx
	s.current.Rx, s.current.RxHardware = rx, s.socket.RxHardware
	s.last = wire.ServerStamps{Sequence: sequence, Receive: wire.Stamp(now+s.offset.ahead-rx, rx != 0),
		Application: wire.NoDuration, Send: wire.NoDuration}
	s.current.start = now
	return true
}

// sending is called right before the send call.
//
//go:nosplit
func (s *stampedServer) sending() {
	s.current.end = timing.Now()
	s.last.Application = wire.Stamp(s.current.end-s.current.start, true)
}

// sent reads when the response left.
//
//go:nosplit
func (s *stampedServer) sent() {
	if !s.socket.On {
		return
	}
	s.socket.Sent++
	s.current.ID, s.current.Tx, s.current.TxHardware = s.socket.LastID(), 0, 0
	s.socket.Transmits(&s.current.Stamps, &s.before.Stamps)
	s.last.Send = wire.Stamp(s.current.Tx-s.offset.ahead-s.current.end, s.current.Tx != 0)
	s.offset.refresh(s.current.end)
}

// mostNIC is the longest plausible time that a request and its response spend between driver and NIC, in nanoseconds.
// A longer one means that the NIC's clock was set.
const mostNIC = 1_000_000_000

// settle adds the previous request's time between driver and NIC to its receive stamp, if the NIC has stamped it. The
// NIC's timestamp of the response may come late.
func (s *stampedServer) settle() {
	t := &s.current
	if !s.socket.On || t.RxHardware == 0 || s.last.Receive == wire.NoDuration || s.last.Send == wire.NoDuration {
		return
	}
	if t.TxHardware == 0 {
		s.socket.Transmits(&t.Stamps, &s.before.Stamps)
	}
	// By the NIC's clock, the server held the request longer than by the driver's clock.
	if more := t.TxHardware - t.RxHardware - (t.Tx - t.Rx); t.TxHardware != 0 && more >= -tolerance && more < mostNIC {
		s.last.Receive = wire.Stamp(int64(s.last.Receive)+more, true)
		s.onHardware++
	}
}

// into adds the device's timestamps and their use to the facts. The hot thread has ended.
func (s *stampedServer) into(facts map[string]string) {
	facts["timestamps_device"] = s.socket.NIC.Device()
	facts["timestamps_hardware"] = s.socket.NIC.Hardware()
	facts["timestamps"] = "software"
	if s.onHardware > 0 {
		facts["timestamps"] = fmt.Sprintf("hardware for %d requests, warm-up included", s.onHardware)
	}
}

// stampedTCPServer answers over TCP.
type stampedTCPServer struct {
	stamps            *stampedServer
	request, response []byte
	// Only the hot thread writes transactions.
	transactions atomic.Int64
}

func newStampedTCPServer(s *sys.Socket, request, response int) (*stampedTCPServer, error) {
	stamps, err := newStampedServer(s, response)
	if err != nil {
		return nil, err
	}
	return &stampedTCPServer{stamps: stamps, request: sys.NewBuffer(request), response: sys.NewBuffer(response)}, nil
}

func (s *stampedTCPServer) run() {
	var answered int64
	socket := s.stamps.socket
	for socket.ReadAll(s.request) && s.stamps.received(s.request[0], s.response, uint32(answered+1)) {
		s.stamps.sending()
		n := socket.Socket.Write(s.response)
		if n != len(s.response) && !sys.WriteRest(socket.Socket, s.response, n) {
			break
		}
		answered++
		s.stamps.sent()
	}
	if s.stamps.failure != nil {
		socket.Socket.Interrupt() // the client is told why
	}
	s.transactions.Store(answered)
}
