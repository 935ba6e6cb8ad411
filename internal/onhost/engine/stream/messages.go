package stream

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// Messages: one-way messages from the client to the server over UDP or TCP, as fast as possible or at a rate. The
// result is what the server's application received within the window, on the server's clock.

// A messageSender sends until it is stopped.
type messageSender struct {
	socket *sys.Socket
	out    *sys.DatagramOut // over UDP
	// buffer holds a batch of messages, one after the other.
	buffer         []byte
	message, batch int
	sequence       uint64
	// rate is in messages per second, 0 for as fast as possible. spins says to wait for the next message without
	// sleeping.
	rate    float64
	spins   bool
	stopped atomic.Bool
	failed  bool // before it was stopped
	// Only the hot thread writes sent. It has a cache line of its own.
	_    [64]byte
	sent atomic.Int64
	_    [56]byte
}

// newMessageSender prepares a sender on a connected socket.
func newMessageSender(s *sys.Socket, c wire.Cookie, p wire.Params) (*messageSender, error) {
	m := &messageSender{socket: s, buffer: sys.NewBuffer(p.Message * p.BatchOrDefault()), message: p.Message,
		batch: p.BatchOrDefault(),
		rate:  p.MessageRate, spins: p.WaitOrDefault() == wire.WaitSpin}
	if p.Protocol == wire.TCP {
		return m, nil
	}
	for i := 0; i < len(m.buffer); i += p.Message {
		copy(m.buffer[i:], c[:])
		clear(m.buffer[i+wire.CookieSize : i+wire.DatagramHeader])
	}
	var err error
	m.out, err = sys.NewDatagramOut(s, m.buffer, p)
	return m, err
}

// run is the hot loop.
//
//go:nosplit
func (m *messageSender) run() {
	var sent int64
	start := timing.Now()
	for !m.stopped.Load() {
		n := m.batch
		if m.rate > 0 {
			// Message k is due k/rate after the start. A late message is sent at once.
			due := int64(float64(timing.Now()-start)*m.rate/1e9) + 1 - sent
			if due <= 0 {
				m.awaitDue(start + int64(float64(sent)*1e9/m.rate))
				continue
			}
			n = int(min(due, int64(n)))
		}
		took := m.send(n)
		if took < 0 {
			m.failed = !m.stopped.Load()
			break
		}
		m.sequence += uint64(took)
		sent += int64(took)
		m.sent.Store(sent)
	}
}

// awaitDue waits until the given time, or for a part of it, so that the caller checks now and then whether it is
// stopped.
//
//go:nosplit
func (m *messageSender) awaitDue(at int64) {
	if !m.spins {
		timing.SleepUntil(min(at, timing.Now()+int64(50*time.Millisecond)))
	}
}

// stop ends run, even if it is blocked.
func (m *messageSender) stop() {
	m.stopped.Store(true)
	m.socket.Interrupt()
}

func (m *messageSender) err() error {
	err := sys.ConnectionError(m.socket)
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w (does the device lack checksum offload? then messages cannot be cut from large "+
			"datagrams: ask for no segmentation)", err)
	}
	return err
}

// send sends the next n messages, and returns how many the kernel took, or less than 0 if it failed. Over TCP a batch
// is one write.
//
//go:nosplit
func (m *messageSender) send(n int) int {
	if m.out != nil {
		for i := range n {
			wire.PutSequence(m.buffer[i*m.message:], m.sequence+uint64(i)+1)
		}
		return m.out.Send(n)
	}
	b := m.buffer[:n*m.message]
	wrote := m.socket.Write(b)
	if wrote != len(b) && !sys.WriteRest(m.socket, b, wrote) {
		return -1
	}
	return n
}

func (m *messageSender) facts() map[string]string {
	if m.out != nil {
		return m.out.Facts()
	}
	return map[string]string{"batching": "one send for a batch"}
}

// A messageReceiver counts messages until its socket ends.
type messageReceiver struct {
	socket  *sys.Socket
	in      sys.DatagramIn // over UDP
	buffer  []byte         // over TCP
	message int
	cookie  wire.Cookie
	failed  bool // ended before its time
	// ending says that the stream may end, stopped that it should.
	ending, stopped atomic.Bool
	counts          publishedTally
}

func newMessageReceiver(s *sys.Socket, c wire.Cookie, p wire.Params) *messageReceiver {
	r := &messageReceiver{socket: s, message: p.Message, cookie: c}
	if p.Protocol == wire.UDP {
		r.in = sys.NewDatagramIn(s, p)
	} else {
		r.buffer = sys.NewBuffer(sys.ReadSize)
	}
	return r
}

// runTCP is the hot loop over TCP. A message has come when its last byte has.
//
//go:nosplit
func (r *messageReceiver) runTCP() {
	var bytes int64
	for {
		n := r.socket.Read(r.buffer)
		if n <= 0 {
			if n == 0 {
				r.socket.SetEnded()
			}
			r.failed = !r.ending.Load()
			return
		}
		bytes += int64(n)
		r.counts.publish(bytes/int64(r.message), 0, 0, 0)
	}
}

// runUDP is the hot loop over UDP. A datagram of another size than agreed, or without the session's cookie, is counted
// as foreign.
//
//go:nosplit
func (r *messageReceiver) runUDP() {
	var received, outOfOrder, foreign int64
	var highest uint64
	for {
		n := r.in.Receive()
		if r.stopped.Load() {
			return
		}
		if n < 0 {
			if r.socket.TimedOut() || r.socket.NoBuffers() || r.socket.Refused() {
				continue
			}
			r.failed = true
			return
		}
		for i := range n {
			b := r.in.Datagrams(i) // whole messages, or nil
			if b == nil {
				foreign++
			}
			for len(b) >= r.message {
				one := b[:r.message]
				b = b[r.message:]
				if !wire.SameCookie(one, r.cookie[:]) {
					foreign++
					continue
				}
				switch sequence := wire.Sequence(one); {
				case sequence > highest:
					highest = sequence
				case sequence == 0:
					continue // the opening, repeated
				default:
					outOfOrder++
				}
				received++
			}
		}
		r.counts.publish(received, int64(highest), outOfOrder, foreign)
	}
}

// stop ends the loop, even if it is blocked.
func (r *messageReceiver) stop() {
	r.ending.Store(true)
	r.stopped.Store(true)
	r.socket.Interrupt()
}

// publishedTally is a tally with one writer. Readers get counts of the same moment.
type publishedTally struct {
	_       [64]byte
	version atomic.Uint64 // odd while the counts change
	counts  [4]atomic.Int64
	_       [24]byte
}

//go:nosplit
func (t *publishedTally) publish(received, highest, outOfOrder, foreign int64) {
	v := t.version.Load()
	t.version.Store(v + 1)
	t.counts[0].Store(received)
	t.counts[1].Store(highest)
	t.counts[2].Store(outOfOrder)
	t.counts[3].Store(foreign)
	t.version.Store(v + 2)
}

// read gives the counts of one moment. Sent is the highest sequence number so far.
func (t *publishedTally) read() wire.Tally {
	for {
		v := t.version.Load()
		m := wire.Tally{Received: t.counts[0].Load(), Sent: t.counts[1].Load(), OutOfOrder: t.counts[2].Load(),
			Foreign: t.counts[3].Load()}
		if v%2 == 0 && t.version.Load() == v {
			return m
		}
	}
}
