//go:build !linux

package supervise

import "context"

// UntilUnsupervised is ctx: on Windows a job object ends the processes of a supervisor together with it.
func UntilUnsupervised(ctx context.Context) (until context.Context, stop func()) {
	return ctx, func() {}
}
