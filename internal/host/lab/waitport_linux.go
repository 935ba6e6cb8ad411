package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// States of sockets in /proc/net (include/net/tcp_states.h). A bound UDP socket has the state of a closed connection.
const (
	stateUnconnected = "07"
	stateListening   = "0A"
)

// waitInterval is the time between two looks for a socket. Nothing announces that a server opens its socket.
const waitInterval = 2 * time.Millisecond

// WaitPort returns when a socket of the protocol, tcp or udp, listens (tcp) or is bound (udp) on the port in the
// network namespace of the process. It sends nothing.
func WaitPort(ctx context.Context, protocol string, port int, timeout time.Duration) error {
	var state string
	switch protocol {
	case "tcp":
		state = stateListening
	case "udp":
		state = stateUnconnected
	default:
		return fmt.Errorf("protocol %q: it must be tcp or udp", protocol)
	}
	if port < 1 || port > 65535 {
		return fmt.Errorf("port %d: it must lie between 1 and 65535", port)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(waitInterval)
	defer tick.Stop()
	for {
		for _, table := range []string{protocol, protocol + "6"} {
			b, err := os.ReadFile("/proc/thread-self/net/" + table)
			if errors.Is(err, os.ErrNotExist) {
				continue // a kernel without IPv6
			}
			if err != nil {
				return err
			}
			if hasSocket(string(b), state, port) {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("no server on %s port %d after %v", protocol, port, timeout)
			}
			return ctx.Err()
		}
	}
}

// hasSocket looks for a socket in a state on a local port. The table is from /proc/net and has lines "sl local remote
// st ...", with local as address:port in hexadecimal.
func hasSocket(table, state string, port int) bool {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != state {
			continue
		}
		_, hex, ok := strings.Cut(fields[1], ":")
		if !ok {
			continue
		}
		if p, err := strconv.ParseUint(hex, 16, 16); err == nil && int(p) == port {
			return true
		}
	}
	return false
}
