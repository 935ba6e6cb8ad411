//go:build portable || !(linux && amd64)

package engine

// Here the loops need nothing of their own.
type (
	requester struct{}
	answerer  struct{}
)

func newRequester(*socket, []byte, []byte, *[momentsLen]uint64) (r requester) { return r }

func newAnswerer(*socket, []byte, []byte) (a answerer) { return a }

// straight sends the request; the rest is rr.go's.
//
//go:nosplit
func (c *rrClient) straight(uint64) (outcome, int) { return sending, c.socket.write(c.request) }

// straight receives the request; the rest is rr.go's.
//
//go:nosplit
func (s *rrServer) straight() (outcome, int) { return receiving, s.socket.read(s.request) }

// settle gives what straight gave.
//
//go:nosplit
func (*socket) settle(_ outcome, n int, _, _ []byte) int { return n }
