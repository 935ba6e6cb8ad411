//go:build !portable

package engine

import (
	"syscall"
	"unsafe"
)

// The ordinary course of request and response over TCP, in machine code. Between two system calls of a transaction the other
// side has run, so what is used there mostly comes from far: the less code and data, and the fewer pages they lie on, the
// shorter the round trip. Whatever is out of the ordinary is left to rr.go.

// requester is what the client's loop works on.
type requester struct {
	fd                      uintptr
	request, response       *byte
	requestLen, responseLen int
	// next is where the next reading of the counter goes, end the end of the room for them.
	next, end *uint64
	last      uint64
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
func (c *rrClient) straight(last uint64) (outcome, int) {
	if c.clock.perTick == 0 || !c.socket.ordinary() {
		return sending, c.socket.write(c.request)
	}
	ticks := &c.ends.ticks
	x := requester{
		fd: c.socket.fd, request: unsafe.SliceData(c.request), response: unsafe.SliceData(c.response),
		requestLen: len(c.request), responseLen: len(c.response), last: last,
		next: &ticks[c.ends.n], end: (*uint64)(unsafe.Add(unsafe.Pointer(ticks), unsafe.Sizeof(*ticks))),
	}
	o := exchanges(&x)
	c.ends.n = int((uintptr(unsafe.Pointer(x.next)) - uintptr(unsafe.Pointer(ticks))) / unsafe.Sizeof(ticks[0]))
	switch o {
	case sending:
		return o, c.socket.sent(x.n, c.request)
	case receiving:
		return o, c.socket.received(x.n, c.response)
	}
	return o, 0
}

// straight answers requests as long as they take their ordinary course.
//
//go:nosplit
func (s *rrServer) straight() (outcome, int) {
	if s.stalling.stall.Length > 0 || !s.socket.ordinary() {
		return receiving, s.socket.read(s.request)
	}
	x := answerer{
		fd: s.socket.fd, request: unsafe.SliceData(s.request), response: unsafe.SliceData(s.response),
		requestLen: len(s.request), responseLen: len(s.response),
	}
	o := answers(&x)
	s.answered += x.answered
	if o == sending {
		return o, s.socket.sent(x.n, s.response)
	}
	return o, s.socket.received(x.n, s.request)
}

// ordinary says that calls wait in the kernel, for as long as it takes.
//
//go:nosplit
func (s *socket) ordinary() bool { return s.flags == 0 && !s.own && !s.timed }

// sent is what write would have returned where the call was made elsewhere and gave n.
//
//go:nosplit
func (s *socket) sent(n int, b []byte) int {
	if n == -int(syscall.EINTR) {
		return s.write(b)
	}
	return s.settle(n)
}

// received is what read would have returned where the call was made elsewhere and gave n.
//
//go:nosplit
func (s *socket) received(n int, b []byte) int {
	if n == -int(syscall.EINTR) {
		return s.read(b)
	}
	return s.settle(n)
}

//go:nosplit
func (s *socket) settle(n int) int {
	if n >= 0 {
		return n
	}
	s.errno = syscall.Errno(-n)
	return -1
}
