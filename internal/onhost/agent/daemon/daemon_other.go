//go:build !linux

package daemon

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/supervise"
)

// Serve is not possible on this system.
func Serve(context.Context, Options, io.Reader, io.Writer) error { return supervise.ErrUnsupported }

// Work is not possible on this system.
func Work(context.Context, Options, io.Reader) error { return supervise.ErrUnsupported }

// Relay is Attached on this system: sshd on Windows ends with a session what the session started.
func Relay(ctx context.Context, o Options, _ []string, stdin, stdout *os.File) error {
	return Attached(ctx, o, stdin, stdout, os.Stderr)
}

// Launch is not possible on this system.
func Launch(context.Context, *exec.Cmd, agent.Introduction, *io.WriteCloser) error {
	return supervise.ErrUnsupported
}

// Hold waits until ctx ends. Only Linux leaves processes to the first one of a container.
func Hold(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func ownedByUser(fs.FileInfo) error { return nil }
