//go:build linux || windows

package listening

import (
	"context"
	"slices"
	"time"
)

// Await returns nil when one of our processes holds the port, and no other process has bound the same address. If
// another process holds the port, the error is a *host.PortTakenError; if ctx ends, it is the error of ctx. It sends
// nothing.
func Await(ctx context.Context, r Request) error {
	if err := r.check(); err != nil {
		return err
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var first time.Time // when a socket of another process was first seen
	for looks := 0; ; {
		found, err := r.sockets()
		if err != nil {
			return err
		}
		ours, others := r.divide(found)
		if len(ours) > 0 {
			others = slices.DeleteFunc(others, func(s socket) bool { return !bindsAs(ours, s) })
			if len(others) == 0 {
				return nil
			}
		}
		if len(others) == 0 {
			looks, first = 0, time.Time{}
		} else {
			if looks++; looks == 1 {
				first = time.Now()
			}
			// A second look, because the process may have been starting another one during the first.
			if looks > 1 && (len(ours) > 0 || others[0].unspecified() || time.Since(first) > elsewhere) {
				return r.taken(others[0])
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if len(others) > 0 {
				return r.taken(others[0])
			}
			return ctx.Err()
		}
	}
}

// bindsAs says whether a socket has the same address as one of the others.
func bindsAs(others []socket, s socket) bool {
	return slices.ContainsFunc(others, func(o socket) bool { return o.local == s.local })
}
