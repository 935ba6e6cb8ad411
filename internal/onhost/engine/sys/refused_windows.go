package sys

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Refused says whether the last call failed because the other side's port is closed (UDP).
func (s *Socket) Refused() bool {
	return errors.Is(s.failure, windows.WSAECONNREFUSED) || errors.Is(s.failure, windows.WSAECONNRESET)
}

// NoBuffers says whether the last call failed because the system had no room for a datagram.
func (s *Socket) NoBuffers() bool { return errors.Is(s.failure, windows.WSAENOBUFS) }

// isTooLong says whether a datagram did not fit into the buffer.
func isTooLong(err error) bool { return errors.Is(err, windows.WSAEMSGSIZE) }
