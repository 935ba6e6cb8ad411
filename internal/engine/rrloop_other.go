//go:build portable || !(linux && amd64)

package engine

// Here the loops need nothing of their own.
type (
	requester struct{}
	answerer  struct{}
)

func newRequester(*socket, []byte, []byte, *[momentsLen]uint64) (r requester) { return r }

func newAnswerer(*socket, []byte, []byte) (a answerer) { return a }

// straight leaves all to settle.
//
//go:nosplit
func (*rrClient) straight(uint64) (outcome, int) { return sending, 0 }

// straight leaves all to settle.
//
//go:nosplit
func (*rrServer) straight() (outcome, int) { return receiving, 0 }

// settle sends out, or receives in.
//
//go:nosplit
func (s *socket) settle(o outcome, _ int, out, in []byte) int {
	if o == sending {
		return s.write(out)
	}
	return s.read(in)
}
