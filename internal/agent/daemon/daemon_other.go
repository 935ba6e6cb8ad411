//go:build !linux

package daemon

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"

	"nearfar/internal/agent"
	"nearfar/internal/supervise"
)

// Serve is not possible on this system.
func Serve(context.Context, Options, io.Reader, io.Writer) error { return supervise.ErrUnsupported }

// Work is not possible on this system.
func Work(context.Context, Options, io.Reader) error { return supervise.ErrUnsupported }

// Relay is not possible on this system.
func Relay(context.Context, Options, []string, *os.File, *os.File) error {
	return supervise.ErrUnsupported
}

// Launch is not possible on this system.
func Launch(context.Context, *exec.Cmd, agent.Introduction, *io.WriteCloser) error {
	return supervise.ErrUnsupported
}

func ownedByUser(fs.FileInfo) error { return nil }
