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
	ticks, x := &c.ends.ticks, &c.loop
	x.fd, x.last = c.socket.fd, last
	x.request, x.requestLen = unsafe.SliceData(c.request), len(c.request)
	x.response, x.responseLen = unsafe.SliceData(c.response), len(c.response)
	x.next, x.end = &ticks[c.ends.n], (*uint64)(unsafe.Add(unsafe.Pointer(ticks), unsafe.Sizeof(*ticks)))
	o := exchanges(x)
	c.ends.n = int((uintptr(unsafe.Pointer(x.next)) - uintptr(unsafe.Pointer(ticks))) / unsafe.Sizeof(ticks[0]))
	return o, c.socket.settle(o, x.n, c.request, c.response)
}

// straight answers requests as long as they take their ordinary course.
//
//go:nosplit
func (s *rrServer) straight() (outcome, int) {
	if s.stalling.stall.Length > 0 || !s.socket.ordinary() {
		return receiving, s.socket.read(s.request)
	}
	x := &s.loop
	x.fd, x.answered = s.socket.fd, 0
	x.request, x.requestLen = unsafe.SliceData(s.request), len(s.request)
	x.response, x.responseLen = unsafe.SliceData(s.response), len(s.response)
	o := answers(x)
	s.answered += x.answered
	return o, s.socket.settle(o, x.n, s.response, s.request)
}

// ordinary says that calls wait in the kernel, for as long as it takes.
//
//go:nosplit
func (s *socket) ordinary() bool { return s.flags == 0 && !s.own && !s.timed }

// settle gives what write or read would have returned, where the call was made elsewhere and gave n: out was sent, or in received.
func (s *socket) settle(o outcome, n int, out, in []byte) int {
	switch {
	case o != sending && o != receiving:
		return 0
	case n >= 0:
		return n
	case n != -int(syscall.EINTR):
		s.errno = syscall.Errno(-n)
		return -1
	case o == sending:
		return s.write(out)
	}
	return s.read(in)
}
