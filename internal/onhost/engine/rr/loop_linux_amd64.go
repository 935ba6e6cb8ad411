//go:build !portable

package rr

import (
	"syscall"
	"unsafe"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
)

// This file and its assembly run the usual case of request and response over TCP. rr.go handles every other case.
// Between two system calls of a transaction the other side runs, and evicts most of the loop's code and data from the
// caches. A loop with less code and data, on fewer pages, therefore gives a shorter round trip.

// momentsLen is for the assembly, which sees only constants of its own package.
const momentsLen = observe.MomentsLen

// requester is the data of the client's loop.
type requester struct {
	fd                      uintptr
	request, response       *byte
	requestLen, responseLen int
	// ticks has room for momentsLen readings of the counter. The first read of them are set.
	ticks *[momentsLen]uint64
	read  int
	last  uint64
	// n is the result of the system call that ended the loop: a number of bytes, or a negative error number.
	n int
}

// answerer is the data of the server's loop.
type answerer struct {
	fd                      uintptr
	request, response       *byte
	requestLen, responseLen int
	answered                int64
	n                       int
}

// The pointers are set once, because the loops must not store pointers (scheduler_linux.go).

func newRequester(s *sys.Socket, request, response []byte, ticks *[momentsLen]uint64) requester {
	return requester{fd: s.Descriptor(), request: unsafe.SliceData(request), requestLen: len(request),
		response: unsafe.SliceData(response), responseLen: len(response), ticks: ticks}
}

func newAnswerer(s *sys.Socket, request, response []byte) answerer {
	return answerer{fd: s.Descriptor(), request: unsafe.SliceData(request), requestLen: len(request),
		response: unsafe.SliceData(response), responseLen: len(response)}
}

// exchanges sends a request, receives the response and notes the counter, repeatedly, until the counter reads last,
// there is no room for more readings, or a call transfers less than the whole message.
//
//go:noescape
func exchanges(x *requester) outcome

// answers receives a request and sends the response, repeatedly, until a call transfers less than the whole message.
//
//go:noescape
func answers(x *answerer) outcome

// straight carries out transactions while they are the usual case.
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

// straight answers requests while they are the usual case.
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

// notYet is the result of a call that a signal interrupted before it did anything. straight also gives it if it made
// no call.
const notYet = -int(syscall.EINTR)

// settle gives the result of a write of out, or of a read into in, after straight gave n.
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
