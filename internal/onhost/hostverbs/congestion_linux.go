package hostverbs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// HasCongestion asks the kernel for a congestion control, with a socket that sends nothing. Only a clear no counts.
func HasCongestion(name string) bool {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(socket) }()
	return !errors.Is(unix.SetsockoptString(socket, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name), unix.ENOENT)
}
