//go:build !linux

package confine

import (
	"fmt"
	"io"
	"runtime"
)

func unsupported() string { return "only Linux can, and this is " + runtime.GOOS }

// Supported says that nothing is enforced.
func Supported() Support {
	return Support{Files: unsupported(), Peers: unsupported(), User: unsupported()}
}

// Run refuses to run a program: it replaces this process on Linux.
func Run([]string, Options, io.Writer) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, unsupported())
}

// ServeSockets makes the sockets of a program on Linux.
func ServeSockets(Options) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, unsupported())
}
