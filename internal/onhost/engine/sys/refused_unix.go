//go:build (!linux && !windows) || (linux && portable)

package sys

import (
	"errors"
	"syscall"
)

func isConnectionRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

func isOutOfBuffers(err error) bool { return errors.Is(err, syscall.ENOBUFS) }

// isTooLong matters on Windows only: elsewhere a datagram is cut to the buffer's size without an error.
func isTooLong(error) bool { return false }
