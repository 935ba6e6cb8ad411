//go:build !linux

package hostverbs

import (
	"context"
	"errors"
	"os"
)

// joinAgent runs the agent in this process. On Windows, the system ends what it started if this process is killed.
func (v *Verbs) joinAgent(ctx context.Context, o *joinOptions) error {
	folder, err := os.MkdirTemp("", "nearfar-agent-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return o.serve(ctx, folder, v.Data, v.Stderr)
}

func (*Verbs) joinWork(context.Context, *joinOptions) error {
	return errors.New("this option is for the agent itself, on Linux")
}

// HasCongestion is always true: this system lets no program choose one.
func HasCongestion(string) bool { return true }
