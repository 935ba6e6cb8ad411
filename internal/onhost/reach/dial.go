package reach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"nearfar/internal/onhost/host"
)

// Dial tries to reach all sockets at the address at the same time. It takes at most Timeout.
func Dial(ctx context.Context, secret []byte, at netip.Addr, sockets []host.Socket) []Result {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	results := make([]Result, len(sockets))
	var all sync.WaitGroup
	for i, s := range sockets {
		all.Go(func() {
			results[i] = Result{Socket: s, Outcome: Reached}
			try := dialTCP
			if s.Protocol == "udp" {
				try = dialUDP
			}
			if err := try(ctx, secret, address(at, s.Port)); err != nil {
				results[i].Outcome, results[i].Detail = outcome(err), err.Error()
			}
		})
	}
	all.Wait()
	return results
}

// errForeign says that a port is open, but its server does not know the secret.
var errForeign = errors.New("connected, but no answer from the agent's own server came back")

func dialTCP(ctx context.Context, secret []byte, to string) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}
	request := newRequest(secret)
	reply := make([]byte, answerLength)
	if _, err := c.Write(request); err != nil {
		return errForeign
	}
	if _, err := io.ReadFull(c, reply); err != nil || !bytes.Equal(reply, answer(secret, request)) {
		return errForeign
	}
	return nil
}

// again is the time between two datagrams, and refusals how many refusals end the attempt.
const (
	again    = 200 * time.Millisecond
	refusals = 3
)

func dialUDP(ctx context.Context, secret []byte, to string) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", to)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	request := newRequest(secret)
	wanted := answer(secret, request)
	reply := make([]byte, answerLength+1)
	for refused := 0; ; {
		_, err := c.Write(request)
		if err == nil {
			_ = c.SetReadDeadline(time.Now().Add(again))
			var n int
			if n, err = c.Read(reply); err == nil && bytes.Equal(reply[:n], wanted) {
				return nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
			continue
		}
		if refused++; refused >= refusals {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(again):
		}
	}
}

// outcome classifies an error. Windows has its own numbers (winsock2.h: WSAEADDRINUSE, WSAECONNREFUSED, WSAENETUNREACH,
// WSAEHOSTUNREACH, WSAECONNRESET, which its UDP sockets report in place of a refusal).
func outcome(err error) Outcome {
	is := func(numbers ...syscall.Errno) bool {
		for _, n := range numbers {
			if errors.Is(err, n) {
				return true
			}
		}
		return false
	}
	var timeout net.Error
	switch {
	case errors.Is(err, errForeign):
		return Foreign
	case is(syscall.EADDRINUSE, 10048):
		return Taken
	case is(syscall.ECONNREFUSED, 10061, 10054):
		return Refused
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH, 10065, 10051):
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout(), is(syscall.ETIMEDOUT):
		return TimedOut
	}
	return Failed
}
