//go:build !linux && !windows

package supervise

import (
	"context"
	"io"
	"os"
	"time"
)

// trees starts nothing: only Linux and Windows are supported.
type trees struct{}

type tree struct {
	started time.Time
	ended   chan struct{}
	end     End
}

func newTrees(bool, func(Use)) (*trees, error) { return nil, ErrUnsupported }

func (*trees) start(string, Command, string, [3]*os.File) (*tree, error) { return nil, ErrUnsupported }

func (*trees) close([]*tree) error { return nil }

func (*tree) terminate() error { return ErrUnsupported }

func (*tree) kill() error { return ErrUnsupported }

func (*tree) serves(context.Context, string, int) error { return ErrUnsupported }

func lookPath(string, string) (string, error) { return "", ErrUnsupported }

func drain(io.Writer, *os.File, []byte) {}
