package daemon

import (
	"context"
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Hold is the work of the first process of a container: it reaps the processes whose parents have ended, and returns
// when ctx ends. This process must have no children of its own that it waits for.
func Hold(ctx context.Context) error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM)
	defer stop()
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	for {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || pid <= 0 {
				break // no children, or none that has ended
			}
		}
		select {
		case <-died:
		case <-ctx.Done():
			return nil
		}
	}
}
