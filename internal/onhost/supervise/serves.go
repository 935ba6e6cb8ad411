//go:build linux || windows

package supervise

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/listening"
)

// serves waits until a process of the tree holds the port.
func (p *tree) serves(ctx context.Context, protocol string, port int) error {
	untilEnd, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.ended:
			cancel()
		case <-untilEnd.Done():
		}
	}()
	r := listening.Request{Protocol: protocol, Port: port, Ours: p.owns, PID: p.pid}
	err := listening.Await(untilEnd, r)
	if err == nil || ctx.Err() != nil {
		return err
	}
	select {
	case <-p.ended:
	default:
		return err
	}
	// A process that it started may hold the port now. Otherwise another process may hold it, and this one ended for
	// that reason.
	switch err := listening.Await(untilEnd, r); {
	case err == nil:
		return nil
	case errors.Is(err, untilEnd.Err()):
		return fmt.Errorf("%w: %v", host.ErrEnded, p.end)
	default:
		return fmt.Errorf("%w: %v; %w", host.ErrEnded, p.end, err)
	}
}
