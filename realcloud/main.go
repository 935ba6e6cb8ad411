// Realcloud runs a lab of labs/ on a real cloud, from nothing to an answer and back to nothing: `make cloud-test`. It
// needs an account, and costs money: docs/cloud-test.md says how much at most, and what is checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	provider, lab string
	// limit and price are in US dollars; price is for an hour of everything, 0 if it is not given.
	limit, price float64
	// time is how long the machines may exist; 0 for the lab's own.
	time time.Duration
	// ready is how long machines may take from up until a run can start on them.
	ready time.Duration
	// program is nearfar, labs the folder with the labs, folder the folder for copies of labs, states and results.
	program, labs, folder string
	// sshConfig is a configuration file for ssh; empty for one that accepts the keys of new hosts.
	sshConfig string
}

// The exit codes besides 0.
const (
	exitFailed      = 1
	exitRefused     = 2 // nothing was made
	exitInterrupted = 130
)

var (
	errInterrupted = errors.New("interrupted")
	errTime        = errors.New("the time for making and measuring is over")
)

// A refusedError says why nothing was made.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

func refusedf(format string, args ...any) error { return &refusedError{fmt.Errorf(format, args...)} }

func main() { os.Exit(start(os.Args[1:], os.Stderr)) }

// start runs the test and returns the exit code. Everything is written to out.
func start(args []string, out io.Writer) int {
	o, err := readOptions(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		ctx, stop := interruptible(out)
		defer stop()
		err = run(ctx, o, out)
	}
	if err != nil {
		fmt.Fprintln(out, "cloud-test:", err)
	}
	var refused *refusedError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refused):
		return exitRefused
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	return exitFailed
}

func readOptions(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("cloud-test", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&o.provider, "provider", "", "the `cloud`: "+strings.Join(cloudNames(), ", "))
	f.StringVar(&o.lab, "lab", "", "the `lab` (default: the first of the provider)")
	f.Float64Var(&o.limit, "limit", 0, "what the test may cost at most, in US `dollars`")
	f.Float64Var(&o.price, "price", 0,
		"what everything costs for an hour, in US `dollars`, if nearfar does not know it")
	f.DurationVar(&o.time, "time", 0, "how long the machines may exist; the greatest sum is calculated from it "+
		"(default: the lab's own)")
	f.DurationVar(&o.ready, "ready", 10*time.Minute, "how long new machines may take until a run can start on them")
	f.StringVar(&o.program, "nearfar", "bin/nearfar", "the `program` under test")
	f.StringVar(&o.labs, "labs", "labs", "the `folder` with the labs")
	f.StringVar(&o.folder, "folder", ".cloud-test", "`folder` for copies of labs, states and results")
	f.StringVar(&o.sshConfig, "ssh-config", "",
		"configuration `file` for ssh (default: yours, and keys of new hosts are accepted)")
	if err := f.Parse(args); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			err = &refusedError{err}
		}
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, refusedf("%q is no flag", f.Arg(0))
	case !(o.limit > 0) || math.IsInf(o.limit, 0):
		return o, refusedf("say what the test may cost at most, in US dollars: make cloud-test PROVIDER=... LIMIT=5")
	case !(o.price >= 0) || o.time < 0 || o.ready < 0:
		return o, refusedf("price, time and ready cannot be negative")
	}
	return o, nil
}

// interruptible gives a context that ends at the first signal. Later signals change nothing: the machines are being
// deleted then.
func interruptible(out io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, done := make(chan os.Signal, 8), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			if ctx.Err() != nil {
				fmt.Fprintln(out, "cloud-test: this program ends when the machines are deleted")
				continue
			}
			fmt.Fprintln(out, "cloud-test: interrupted: what was made is deleted now")
			cancel(errInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
