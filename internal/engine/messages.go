package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
)

// Messages: one-way messages from the client to the server, as many as go or at a rate, over UDP or TCP. What counts is
// what the server's application received within the window, on the server's clock.

// maxBatch is how many messages one call can send.
const maxBatch = 1024

// maxMessageRate is in messages a second.
const maxMessageRate = 1e9

// Flow is how one-way messages are sent.
type Flow struct {
	// Batch is how many messages one call sends at most; 0 is 1.
	Batch int `json:"batch,omitempty"`
	// MessageRate is in 1/s; 0 is as fast as it goes.
	MessageRate float64 `json:"message_rate,omitempty"`
	// Unsegmented sends each message as a datagram of its own, where otherwise the kernel or the device would cut them
	// from large ones (UDP_SEGMENT).
	Unsegmented bool `json:"unsegmented,omitempty"`
}

func (f Flow) batch() int { return max(f.Batch, 1) }

// validateMessages says what of the parameters of messages cannot be.
func (p Params) validateMessages() error {
	switch f := p.Flow; {
	case p.Mode != ModeMessages && f != Flow{}:
		return fmt.Errorf("batch, message rate and segmentation are of %s, not of %s", ModeMessages, p.Mode)
	case p.Mode != ModeMessages:
		return nil
	case f.Batch < 0 || f.Batch > maxBatch:
		return fmt.Errorf("batch of %d: must be from 1 to %d", f.Batch, maxBatch)
	case f.MessageRate < 0 || f.MessageRate > maxMessageRate || f.MessageRate > 0 && f.MessageRate < 1:
		return fmt.Errorf("rate of %g messages a second: must be from 1 to %g, or 0 for as many as go", f.MessageRate, maxMessageRate)
	case p.Protocol == UDP && (p.Message < datagramHeader || p.Message > maxDatagram):
		return fmt.Errorf("message of %d bytes: over udp it must be from %d (cookie and sequence number) to %d", p.Message, datagramHeader, maxDatagram)
	case p.Message < 1 || p.Message > maxMessage || p.Message*f.batch() > maxMessage:
		return fmt.Errorf("messages of %d bytes in batches of %d: must be from 1 to %d bytes in all", p.Message, f.batch(), maxMessage)
	}
	return nil
}

// messageTally is what a receiver has seen.
type messageTally struct {
	// Received are the messages of the session that came.
	Received int64 `json:"received"`
	// Sent is how many were sent meanwhile, as the sequence numbers tell (UDP).
	Sent int64 `json:"sent"`
	// OutOfOrder came after one that was sent later, or twice (UDP).
	OutOfOrder int64 `json:"out_of_order"`
	// Foreign datagrams are not of this session.
	Foreign int64 `json:"foreign"`
}

func (m messageTally) sound() bool {
	return m.Received >= 0 && m.Sent >= 0 && m.OutOfOrder >= 0 && m.Foreign >= 0
}

func (m messageTally) plus(n messageTally) messageTally {
	return messageTally{Received: m.Received + n.Received, Sent: m.Sent + n.Sent, OutOfOrder: m.OutOfOrder + n.OutOfOrder, Foreign: m.Foreign + n.Foreign}
}

func (m messageTally) minus(n messageTally) messageTally {
	return messageTally{Received: m.Received - n.Received, Sent: m.Sent - n.Sent, OutOfOrder: m.OutOfOrder - n.OutOfOrder, Foreign: m.Foreign - n.Foreign}
}

// A messageSender sends until it is stopped.
type messageSender struct {
	socket *socket
	out    *datagramOut // over UDP
	// buffer holds a batch of messages, one behind the other.
	buffer         []byte
	message, batch int
	sequence       uint64
	// rate is in 1/s, 0 for as fast as it goes; spins says to wait for the next without sleeping.
	rate    float64
	spins   bool
	stopped atomic.Bool
	failed  bool // before it was stopped
	// sent is written by the hot thread alone. It has a cache line of its own.
	_    [64]byte
	sent atomic.Int64
	_    [56]byte
}

// newMessageSender prepares a sender on a connected socket.
func newMessageSender(s *socket, c cookie, p Params) (*messageSender, error) {
	m := &messageSender{socket: s, buffer: newBuffer(p.Message * p.batch()), message: p.Message, batch: p.batch(),
		rate: p.MessageRate, spins: p.waiting() == WaitSpin}
	if p.Protocol == TCP {
		return m, nil
	}
	for i := 0; i < len(m.buffer); i += p.Message {
		copy(m.buffer[i:], c[:])
		clear(m.buffer[i+cookieSize : i+datagramHeader])
	}
	var err error
	m.out, err = newDatagramOut(s, m.buffer, p)
	return m, err
}

// run is the hot loop.
//
//go:nosplit
func (m *messageSender) run() {
	var sent int64
	start := nanotime()
	for !m.stopped.Load() {
		n := m.batch
		if m.rate > 0 {
			// The message of number k is due k/rate after the start; what is late goes at once.
			due := int64(float64(nanotime()-start)*m.rate/1e9) + 1 - sent
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

// awaitDue waits until the given time, or a part of it, so that the caller sees now and then whether it is stopped.
//
//go:nosplit
func (m *messageSender) awaitDue(at int64) {
	if !m.spins {
		sleepUntil(min(at, nanotime()+int64(50*time.Millisecond)))
	}
}

// stop ends run: also where it is blocked.
func (m *messageSender) stop() {
	m.stopped.Store(true)
	m.socket.interrupt()
}

func (m *messageSender) err() error {
	err := connectionError(m.socket)
	if errors.Is(err, syscall.EIO) {
		return fmt.Errorf("%w (does the device lack checksum offload? then messages cannot be cut from large datagrams: ask for no segmentation)", err)
	}
	return err
}

// send sends the next n messages, and returns how many the kernel took, or less than 0 when it failed. Over TCP those of
// a batch go in one call.
//
//go:nosplit
func (m *messageSender) send(n int) int {
	if m.out != nil {
		for i := range n {
			putSequence(m.buffer[i*m.message:], m.sequence+uint64(i)+1)
		}
		return m.out.send(n)
	}
	b := m.buffer[:n*m.message]
	wrote := m.socket.write(b)
	if wrote != len(b) && !writeRest(m.socket, b, wrote) {
		return -1
	}
	return n
}

func (m *messageSender) facts() map[string]string {
	if m.out != nil {
		return m.out.facts()
	}
	return map[string]string{"batching": "one send for a batch"}
}

// A messageReceiver counts messages until its socket ends.
type messageReceiver struct {
	socket  *socket
	in      datagramIn // over UDP
	buffer  []byte     // over TCP
	message int
	cookie  cookie
	failed  bool // ended before its time
	// ending says that the stream may end, stopped that it is to.
	ending, stopped atomic.Bool
	counts          publishedTally
}

func newMessageReceiver(s *socket, c cookie, p Params) *messageReceiver {
	r := &messageReceiver{socket: s, message: p.Message, cookie: c}
	if p.Protocol == UDP {
		r.in = newDatagramIn(s, p)
	} else {
		r.buffer = newBuffer(receiveBuffer)
	}
	return r
}

// runTCP is the hot loop over TCP: a message has come when its last byte has.
//
//go:nosplit
func (r *messageReceiver) runTCP() {
	var bytes int64
	for {
		n := r.socket.read(r.buffer)
		if n <= 0 {
			if n == 0 {
				r.socket.setEnded()
			}
			r.failed = !r.ending.Load()
			return
		}
		bytes += int64(n)
		r.counts.publish(bytes/int64(r.message), 0, 0, 0)
	}
}

// runUDP is the hot loop over UDP: each datagram is of the agreed size and carries the session's cookie, or is foreign.
//
//go:nosplit
func (r *messageReceiver) runUDP() {
	var received, outOfOrder, foreign int64
	var highest uint64
	for {
		n := r.in.receive()
		if r.stopped.Load() {
			return
		}
		if n < 0 {
			if r.socket.timedOut() || r.socket.noBuffers() || r.socket.refused() {
				continue
			}
			r.failed = true
			return
		}
		for i := range n {
			b := r.in.datagrams(i) // whole messages, or nil
			if b == nil {
				foreign++
			}
			for len(b) >= r.message {
				one := b[:r.message]
				b = b[r.message:]
				if !sameCookie(one, r.cookie[:]) {
					foreign++
					continue
				}
				switch sequence := sequenceOf(one); {
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

// stop ends the loop: also where it is blocked.
func (r *messageReceiver) stop() {
	r.ending.Store(true)
	r.stopped.Store(true)
	r.socket.interrupt()
}

// publishedTally is a tally that its one writer keeps up to date, and that others read whole: the counts of one moment.
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
func (t *publishedTally) read() messageTally {
	for {
		v := t.version.Load()
		m := messageTally{Received: t.counts[0].Load(), Sent: t.counts[1].Load(), OutOfOrder: t.counts[2].Load(), Foreign: t.counts[3].Load()}
		if v%2 == 0 && t.version.Load() == v {
			return m
		}
	}
}

var errNoMessages = errors.New("no message arrived within the window")
