package engine

import (
	"fmt"
	"sync/atomic"
)

// The server's side of rr with timestamps.

// stampedServer takes the stamps of one session on the server.
type stampedServer struct {
	socket *stampedSocket
	offset clockOffset
	// last is what is known of the request answered last; current and before are the times of sending.
	last            serverStamps
	current, before stampedTransaction
	failure         error
	// onHardware counts the requests that the NIC stamped both ways.
	onHardware int64
}

func newStampedServer(s *socket, unit int) (*stampedServer, error) {
	stamped, err := newStampedSocket(s, unit)
	if err != nil {
		return nil, err
	}
	if err := stamped.turn(false); err != nil {
		return nil, err
	}
	return &stampedServer{socket: stamped, last: serverStamps{receive: noDuration, application: noDuration, send: noDuration}}, nil
}

// received takes note of a request that has just been read, turns the timestamps on or off as its flags ask, and puts what
// is known of the one before into the response. False when the kernel refuses the timestamps.
//
//go:nosplit
func (s *stampedServer) received(flags byte, response []byte, sequence uint32) bool {
	now := nanotime()
	if on := flags&flagStamped != 0; on != s.socket.on {
		if s.failure = s.socket.turn(on); s.failure != nil {
			return false
		}
		s.offset.refresh(now)
		s.socket.rx, s.socket.rxHardware = 0, 0
	}
	if s.current.rxHardware != 0 {
		s.settle()
	}
	putServerStamps(response, s.last)
	rx := s.socket.rx
	s.current.rx, s.current.rxHardware = rx, s.socket.rxHardware
	s.last = serverStamps{sequence: sequence, receive: duration(now+s.offset.ahead-rx, rx != 0), application: noDuration, send: noDuration}
	s.current.start = now
	return true
}

// sending is called right before the send call.
//
//go:nosplit
func (s *stampedServer) sending() {
	s.current.end = nanotime()
	s.last.application = duration(s.current.end-s.current.start, true)
}

// sent reads when the response left.
//
//go:nosplit
func (s *stampedServer) sent() {
	if !s.socket.on {
		return
	}
	s.socket.sent++
	s.current.id, s.current.tx, s.current.txHardware = s.socket.lastID(), 0, 0
	s.socket.transmits(&s.current, &s.before)
	s.last.send = duration(s.current.tx-s.offset.ahead-s.current.end, s.current.tx != 0)
	s.offset.refresh(s.current.end)
}

// mostNIC is how long a request and its response can be between driver and NIC together, in nanoseconds; what is more says
// that the NIC's clock was set.
const mostNIC = 1_000_000_000

// settle puts the time between driver and NIC of the request before to its receive, where the NIC has stamped it: its
// timestamp of the response may come late.
func (s *stampedServer) settle() {
	t := &s.current
	if !s.socket.on || t.rxHardware == 0 || s.last.receive == noDuration || s.last.send == noDuration {
		return
	}
	if t.txHardware == 0 {
		s.socket.transmits(t, &s.before)
	}
	// The server had it for longer by the NIC's clock than by the driver's.
	if more := t.txHardware - t.rxHardware - (t.tx - t.rx); t.txHardware != 0 && more >= -tolerance && more < mostNIC {
		s.last.receive = duration(int64(s.last.receive)+more, true)
		s.onHardware++
	}
}

// into puts what the server's device has to give into its facts, and what came of it. The hot thread has ended.
func (s *stampedServer) into(facts map[string]string) {
	facts["timestamps_device"] = s.socket.nic.device()
	facts["timestamps_hardware"] = s.socket.nic.hardware()
	facts["timestamps"] = "software"
	if s.onHardware > 0 {
		facts["timestamps"] = fmt.Sprintf("hardware for %d requests, warm-up included", s.onHardware)
	}
}

// stampedRRServer answers over TCP.
type stampedRRServer struct {
	stamps            *stampedServer
	request, response []byte
	// transactions is written by the hot thread alone.
	transactions atomic.Int64
}

func newStampedRRServer(s *socket, request, response int) (*stampedRRServer, error) {
	stamps, err := newStampedServer(s, response)
	if err != nil {
		return nil, err
	}
	return &stampedRRServer{stamps: stamps, request: newBuffer(request), response: newBuffer(response)}, nil
}

func (s *stampedRRServer) run() {
	var answered int64
	socket := s.stamps.socket
	for socket.readAll(s.request) && s.stamps.received(s.request[0], s.response, uint32(answered+1)) {
		s.stamps.sending()
		n := socket.socket.write(s.response)
		if n != len(s.response) && !writeRest(socket.socket, s.response, n) {
			break
		}
		answered++
		s.stamps.sent()
	}
	if s.stamps.failure != nil {
		socket.socket.interrupt() // the client is told why
	}
	s.transactions.Store(answered)
}

// serveStamped answers over TCP with timestamps.
func (d *dataServer) serveStamped(socket *socket) error {
	s, err := newStampedRRServer(socket, d.params.Request, d.params.Response)
	if err != nil {
		return err
	}
	d.done.Facts = serverFacts(socket)
	account := startAccount()
	d.run(socket, s.run, nil)
	if err := d.awaitStop(); err != nil {
		return err
	}
	account.into(&d.done)
	d.close()
	d.done.Transactions = s.transactions.Load()
	s.stamps.into(d.done.Facts)
	return s.stamps.failure
}
