package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// abandonAfter is how long a verb that measures nothing may take to end by itself after an interrupt.
const abandonAfter = 2 * time.Second

// lastPatience is how long the last words of a run may take after a second Ctrl-C.
const lastPatience = 5 * time.Second

// untilInterrupted returns a context that ends with the first signal of endSignals, so that verbs can end in order. A
// second Ctrl-C calls atOnce and ends the process with exit code 130. That is safe: the lab's processes end with this
// process, and a run directory stays valid. Every other signal is polite however often it comes: `timeout` sends
// SIGTERM to the process and again to its group. stop restores the signals' default handling.
func untilInterrupted(atOnce func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, endSignals()...)
	over := make(chan struct{})
	go func() {
		untilTwice(signals, over, cancel, func() {
			atOnce()
			os.Exit(exitInterrupted)
		})
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}

// endSignals are the signals that end a command in order: a run keeps its trials and says how to continue it. A hangup
// is sent when a terminal or a login is closed. A program that was started with nohup ignores it, and stays so.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// untilTwice calls polite at each signal, and atOnce at the second os.Interrupt. It returns after that, or when over is
// closed.
func untilTwice(signals <-chan os.Signal, over <-chan struct{}, polite, atOnce func()) {
	for interrupts := 0; ; {
		select {
		case s := <-signals:
			polite()
			if s != os.Interrupt {
				continue
			}
			if interrupts++; interrupts == 2 {
				atOnce()
				return
			}
		case <-over:
			return
		}
	}
}

// lastWords is what a run says if the user does not wait for its end: its answer so far, and how to continue it.
type lastWords struct {
	mu  sync.Mutex
	say func()
}

// set sets what is said.
func (l *lastWords) set(say func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say = say
}

// take is called before the run says the same in order. A speak then waits for said.
func (l *lastWords) take() (said func()) {
	l.mu.Lock()
	l.say = nil
	return l.mu.Unlock
}

// speak says the last words, once, for no longer than lastPatience.
func (l *lastWords) speak() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.say != nil {
			l.say()
			l.say = nil
		}
	}()
	timeout := time.NewTimer(lastPatience)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
}

// readsOnly makes a verb that measures nothing return soon after an interrupt, even if it is blocked while it opens a
// pipe, or works on a large run. Its work then ends with the process.
func readsOnly(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return abandon(cmd.Context(), abandonAfter, func() error { return run(cmd, args) })
	}
	return cmd
}

// abandon calls work. After ctx has ended, it waits for work only for patience. Every error after the end of ctx
// becomes errInterrupted.
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

// interruptible reads from r until ctx ends. Then Read returns the error of ctx, also a Read that is blocked.
type interruptible struct {
	ctx context.Context
	r   io.Reader
	// rest was read and not returned yet. waiting receives the result of the Read of r in progress; nil for none.
	rest    []byte
	err     error
	waiting chan piece
}

// piece is the result of one Read.
type piece struct {
	data []byte
	err  error
}

// Read must not be called by several goroutines at the same time.
func (i *interruptible) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(i.rest) == 0 && i.err == nil {
		if i.waiting == nil {
			i.waiting = make(chan piece, 1)
			go func(into chan<- piece, size int) {
				// Not the caller's buffer: the caller may have returned in the meantime.
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

// untilDone is a writer that fails after done has been closed.
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
