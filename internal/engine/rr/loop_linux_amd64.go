//go:build !portable

package rr

import (
	"syscall"
	"unsafe"

	"nearfar/internal/engine/observe"
	"nearfar/internal/engine/sys"
)

// The ordinary course of request and response over TCP, in machine code. Between two system calls of a transaction the other
// side has run, so what is used there mostly comes from far: the less code and data, and the fewer pages they lie on, the
// shorter the round trip. Whatever is out of the ordinary is left to rr.go.

// momentsLen is for the assembly, which sees the constants of this package alone.
const momentsLen = observe.MomentsLen

// requester is what the client's loop works on.
type requester struct {
	fd                      uintptr
	request, response       *byte
	requestLen, responseLen int
	// ticks has room for momentsLen readings of the counter; read of them are there.
	ticks *[momentsLen]uint64
	read  int
	last  uint64
	// n is what the call gave that ended the loop: a number of bytes, or a negative error number.
	n int
}

// answerer is what the server's loop works on.
type answerer struct {
	fd                      uintptr
	request, response       *byte
	requestLen, responseLen int
	answered                int64
	n                       int
}

// What the loops point at is set once: where they run, no pointer may be stored (scheduler_linux.go).

func newRequester(s *sys.Socket, request, response []byte, ticks *[momentsLen]uint64) requester {
	return requester{fd: s.Descriptor(), request: unsafe.SliceData(request), requestLen: len(request),
		response: unsafe.SliceData(response), responseLen: len(response), ticks: ticks}
}

func newAnswerer(s *sys.Socket, request, response []byte) answerer {
	return answerer{fd: s.Descriptor(), request: unsafe.SliceData(request), requestLen: len(request),
		response: unsafe.SliceData(response), responseLen: len(response)}
}

// exchanges sends a request, receives the response and notes the counter, again and again, until it reads last, there is no
// room for more, or a call gives other than the whole message.
//
//go:noescape
func exchanges(x *requester) outcome

// answers receives a request and sends the response, again and again, until a call gives other than the whole message.
//
//go:noescape
func answers(x *answerer) outcome

// straight carries out transactions as long as they take their ordinary course.
//
//go:nosplit
func (c *tcpClient) straight(last uint64) (outcome, int) {
	if !c.assembly || !c.socket.Ordinary() {
		return sending, notYet
	}
	x := &c.loop
	x.read, x.last = c.ends.N, last
	o := exchanges(x)
	c.ends.N = x.read
	return o, x.n
}

// straight answers requests as long as they take their ordinary course.
//
//go:nosplit
func (s *tcpServer) straight() (outcome, int) {
	if !s.assembly || s.stalling.Stall.Length > 0 || !s.socket.Ordinary() {
		return receiving, notYet
	}
	x := &s.loop
	x.answered = 0
	o := answers(x)
	s.answered += x.answered
	return o, x.n
}

// notYet is what a call gives that a signal ended before it did anything, and what straight gives where it made none.
const notYet = -int(syscall.EINTR)

// settle gives what write or read would have returned, where straight gave n: out was sent, or in received.
//
//go:nosplit
func settle(s *sys.Socket, o outcome, n int, out, in []byte) int {
	switch {
	case n >= 0:
		return n
	case n != notYet:
		s.Fail(syscall.Errno(-n))
		return -1
	case o == sending:
		return s.Write(out)
	}
	return s.Read(in)
}
