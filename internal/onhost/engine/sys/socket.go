// Package sys has the engine's sockets, and what the kernel says about them, for each kind of system. On Linux,
// system calls bypass Go's poller and scheduler. Other systems, and builds with the tag portable, use the net
// package.
package sys

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// silentConnection is how long the server waits for the request on a new connection.
const silentConnection = 2 * time.Second

// deferral is how long the server's kernel keeps a connection without a request. It is longer than the kernel repeats
// its part of the handshake, so that the kernel drops such a connection (tcp(7), TCP_DEFER_ACCEPT).
const deferral = 10 * time.Minute

// NewBuffer returns a buffer that has been written to, so that it causes no page faults.
func NewBuffer(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// WriteRest completes a write of b that has written n bytes; n < 0 if the write failed.
//
//go:nosplit
func WriteRest(s *Socket, b []byte, n int) bool {
	for n >= 0 {
		b = b[n:]
		if len(b) == 0 {
			return true
		}
		n = s.Write(b)
	}
	return false
}

// ReadRest completes a read of b that has read n bytes; n <= 0 if the connection ended or failed.
//
//go:nosplit
func ReadRest(s *Socket, b []byte, n int) bool {
	for n > 0 {
		b = b[n:]
		if len(b) == 0 {
			return true
		}
		n = s.Read(b)
	}
	if n == 0 {
		s.SetEnded()
	}
	return false
}

// ConnectionError says why a data connection failed.
func ConnectionError(s *Socket) error {
	err := s.Err()
	if errors.Is(err, io.EOF) {
		return errors.New("the server closed the data connection")
	}
	return fmt.Errorf("data connection: %w", err)
}

// A TCPSample is what TCP_INFO says about a connection that sends.
type TCPSample struct {
	// Retransmits counts segments since the connection began.
	Retransmits int64
	// Window is the congestion window in bytes, Smoothed the smoothed round-trip time.
	Window   int64
	Smoothed time.Duration
}

// NewPollerOf makes a poller for sockets, each under its index.
func NewPollerOf(sockets []*Socket) (*Poller, error) {
	p, err := NewPoller()
	if err != nil {
		return nil, err
	}
	for i, s := range sockets {
		if err := p.Add(s, i); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// ReadSize is the size of a receiver's reads.
const ReadSize = 128 << 10
