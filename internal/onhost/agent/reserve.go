package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
)

// callReserve reserves ports for a run, until the agent ends. It opens no port.
const callReserve = "reserve"

// maxReserved bounds the ports that an agent reserves.
const maxReserved = 256

// ErrReserved is wrapped by the error of Reserve if another run has a port.
var ErrReserved = errors.New("another run of nearfar uses it")

// Reserve reserves ports of the host for a run, until the agent ends. Agents of the same run can share a port: several
// hosts of a file can be one machine. run is the run's secret name. The error wraps ErrReserved if another run has
// reserved one of the ports. It says nothing of other programs, and does not open the ports. On systems other than
// Linux nothing is reserved.
func (c *Client) Reserve(ctx context.Context, run string, ports []int) error {
	_, err := c.exchange(ctx, call{request: request{Call: callReserve, Key: run, Ports: ports}})
	return err
}

// reservations are the ports that this agent has reserved.
type reservations struct {
	// connected says whether the owner is connected. The ports of an owner that is away are free: it may have been
	// killed, and be resumed by another run.
	connected func() bool

	mu   sync.Mutex
	held map[int]func()
}

// reserve reserves ports, or none of them.
func (r *reservations) reserve(run string, ports []int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.held)+len(ports) > maxReserved {
		return fmt.Errorf("%w: more than %d ports", errProtocol, maxReserved)
	}
	sum := sha256.Sum256([]byte(run))
	shown := func() string { // a stranger may read it
		if !r.connected() {
			return ""
		}
		return hex.EncodeToString(sum[:])
	}
	for _, port := range ports {
		if r.held[port] != nil {
			continue // a repeated call
		}
		free, err := reservePort(port, shown)
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		if r.held == nil {
			r.held = map[int]func(){}
		}
		r.held[port] = free
	}
	return nil
}

func (r *reservations) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, free := range r.held {
		free()
	}
	r.held = nil
}
