package sys

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isConnectionRefused(err error) bool {
	return errors.Is(err, windows.WSAECONNREFUSED) || errors.Is(err, windows.WSAECONNRESET)
}

func isOutOfBuffers(err error) bool { return errors.Is(err, windows.WSAENOBUFS) }

// isTooLong says whether a datagram did not fit into the buffer.
func isTooLong(err error) bool { return errors.Is(err, windows.WSAEMSGSIZE) }
