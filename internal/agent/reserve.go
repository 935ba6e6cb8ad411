package agent

import (
	"context"
	"errors"
	"fmt"
)

// callReserve says that a run measures on ports of the host, until the agent ends; see Client.Reserve.
const callReserve = "reserve"

// ErrReserved says that another run measures on the same ports of a host.
var ErrReserved = errors.New("another run of nearfar measures on this host")

// Reserve says that a run, which is named by a random text, measures on ports of the host, until its agent ends. The
// error wraps ErrReserved if another run does. So a run that comes second is refused before it opens a port that the
// first one needs. Agents of one run may reserve the same ports: two names can be one machine. On systems without
// sockets that have names of their own (all but Linux) nothing is reserved.
func (c *Client) Reserve(ctx context.Context, run string, ports ...int) error {
	_, err := c.exchange(ctx, call{request: request{Call: callReserve, Key: run, CPUs: ports}})
	if err != nil {
		return c.fail("reserve", err)
	}
	return nil
}

// reserved is the error for a port that another run has.
func reserved(port int) error {
	return fmt.Errorf("%w, and has port %d: wait for its end, or give the host other ports (port: %d)", ErrReserved, port,
		port+100)
}
