//go:build portable || !(linux && amd64)

package rr

import (
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/sys"
)

// Without assembly the loops need no data.
type (
	requester struct{}
	answerer  struct{}
)

func newRequester(*sys.Socket, []byte, []byte, *[observe.MomentsLen]uint64) (r requester) { return r }

func newAnswerer(*sys.Socket, []byte, []byte) (a answerer) { return a }

// straight leaves everything to settle.
//
//go:nosplit
func (*tcpClient) straight(uint64) (outcome, int) { return sending, 0 }

// straight leaves everything to settle.
//
//go:nosplit
func (*tcpServer) straight() (outcome, int) { return receiving, 0 }

// settle sends out, or receives in.
//
//go:nosplit
func settle(s *sys.Socket, o outcome, _ int, out, in []byte) int {
	if o == sending {
		return s.Write(out)
	}
	return s.Read(in)
}
