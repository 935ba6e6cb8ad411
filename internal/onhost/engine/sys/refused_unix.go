//go:build (!linux && !windows) || (linux && portable)

package sys

import (
	"errors"
	"syscall"
)

// Refused says whether the last call failed because the other side's port is closed (UDP).
func (s *Socket) Refused() bool { return errors.Is(s.failure, syscall.ECONNREFUSED) }

// NoBuffers says whether the last call failed because the system had no room for a datagram.
func (s *Socket) NoBuffers() bool { return errors.Is(s.failure, syscall.ENOBUFS) }

// isTooLong matters on Windows only: elsewhere a datagram is cut to the buffer's size without an error.
func isTooLong(error) bool { return false }
