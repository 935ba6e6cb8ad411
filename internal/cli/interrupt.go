package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
)

// abandonAfter is how long a verb that only reads may take to end by itself after an interrupt.
const abandonAfter = 2 * time.Second

// untilInterrupted gives a context that the first Ctrl-C or TERM ends, so that verbs can end in order. The second one
// ends the process at once with the exit code 130, whatever it waits for; restore is called right before. What a killed
// process leaves, a lab's processes end and a run directory survives. The function that it returns gives the signals
// up.
func untilInterrupted(restore func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals()...)
	over := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-over:
			return
		}
		select {
		case <-signals:
			restore()
			os.Exit(exitInterrupted)
		case <-over:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}

// readsOnly has a verb that measures nothing end soon after an interrupt, whatever it does: it can wait in the opening
// of a pipe, or work on a large run. What it then still does is given up with the process.
func readsOnly(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return abandon(cmd.Context(), abandonAfter, func() error { return run(cmd, args) })
	}
	return cmd
}

// abandon calls work, and returns without waiting for its end where it goes on for longer than patience after ctx has
// ended. Work that fails after that was interrupted, whatever it says.
func abandon(ctx context.Context, patience time.Duration, work func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	interrupted := func(err error) error {
		if err != nil && ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	select {
	case err := <-ended:
		return interrupted(err)
	case <-ctx.Done():
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case err := <-ended:
		return interrupted(err)
	case <-timeout.C:
		return errInterrupted
	}
}

// interruptible reads like r until ctx ends, and then gives ctx's error, also to a Read that waits.
type interruptible struct {
	ctx context.Context
	r   io.Reader
	// rest is what was read and not asked for yet; waiting has the Read that goes on, nil for none.
	rest    []byte
	err     error
	waiting chan piece
}

// piece is what one Read gave.
type piece struct {
	data []byte
	err  error
}

// Read is not for several goroutines at a time.
func (i *interruptible) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(i.rest) == 0 && i.err == nil {
		if i.waiting == nil {
			i.waiting = make(chan piece, 1)
			go func(into chan<- piece, size int) {
				// The caller's own buffer is gone where it no longer waits.
				buffer := make([]byte, size)
				n, err := i.r.Read(buffer)
				into <- piece{buffer[:n], err}
			}(i.waiting, min(len(p), 1<<16))
		}
		select {
		case read := <-i.waiting:
			i.rest, i.err, i.waiting = read.data, read.err, nil
		case <-i.ctx.Done():
			return 0, i.ctx.Err()
		}
	}
	n := copy(p, i.rest)
	if i.rest = i.rest[n:]; len(i.rest) == 0 {
		return n, i.err
	}
	return n, nil
}

// untilDone writes like w until done is closed: what is written to a file then ends with an error, and the file is
// removed.
type untilDone struct {
	io.Writer
	done <-chan struct{}
}

func (u untilDone) Write(p []byte) (int, error) {
	select {
	case <-u.done:
		return 0, errInterrupted
	default:
		return u.Writer.Write(p)
	}
}
