//go:build portable || !(linux && amd64)

package engine

// Here the loops need nothing of their own.
type (
	requester struct{}
	answerer  struct{}
)

// straight sends the request; the rest is rr.go's.
//
//go:nosplit
func (c *rrClient) straight(uint64) (outcome, int) { return sending, c.socket.write(c.request) }

// straight receives the request; the rest is rr.go's.
//
//go:nosplit
func (s *rrServer) straight() (outcome, int) { return receiving, s.socket.read(s.request) }
