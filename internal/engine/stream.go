package engine

import "sync/atomic"

// Stream: bulk data from the client to the server over N connections, each with a thread on both sides. What counts is
// what the server has received.

// streamSender writes until its socket is interrupted.
type streamSender struct {
	socket  *socket
	message []byte
	stopped atomic.Bool
	failed  bool // before it was stopped
}

func newStreamSender(s *socket, message int) *streamSender {
	return &streamSender{socket: s, message: newBuffer(message)}
}

//go:nosplit
func (s *streamSender) run() {
	for !s.stopped.Load() {
		if !s.send() {
			s.failed = !s.stopped.Load()
			return
		}
	}
}

// send writes one message, or as much of it as the kernel takes: what counts is what arrives.
//
//go:nosplit
func (s *streamSender) send() bool { return s.socket.write(s.message) >= 0 }

// stop ends run: also where it is blocked.
func (s *streamSender) stop() {
	s.stopped.Store(true)
	s.socket.interrupt()
}

// receiveBuffer is the size of the server's reads.
const receiveBuffer = 128 << 10

// streamReceiver reads until the stream ends.
type streamReceiver struct {
	socket *socket
	buffer []byte
	// received is the number of bytes so far, written by the hot thread alone. It has a cache line of its own.
	_        [64]byte
	received atomic.Int64
	_        [56]byte
}

func newStreamReceiver(s *socket) *streamReceiver {
	return &streamReceiver{socket: s, buffer: newBuffer(receiveBuffer)}
}

//go:nosplit
func (r *streamReceiver) run() {
	var received int64
	for {
		n := r.socket.read(r.buffer)
		if n <= 0 {
			return
		}
		received += int64(n)
		r.received.Store(received)
	}
}
