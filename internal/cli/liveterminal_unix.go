//go:build linux || darwin

package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// disableEcho turns the terminal's echo off, so that typed keys do not appear in the picture. Ctrl-C stays a signal.
// restore turns the echo on again.
func disableEcho(f *os.File) (restore func()) {
	fd := int(f.Fd())
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil || t.Lflag&unix.ECHO == 0 {
		return func() {}
	}
	t.Lflag &^= unix.ECHO
	if unix.IoctlSetTermios(fd, setTermios, t) != nil {
		return func() {}
	}
	return func() {
		// Read the settings again, and change only the echo. A background job must not change them.
		if t, err := unix.IoctlGetTermios(fd, getTermios); err == nil && foreground(f) {
			t.Lflag |= unix.ECHO
			_ = unix.IoctlSetTermios(fd, setTermios, t) // an error cannot be handled
		}
	}
}

// keepTerminal records the settings of the terminal of w. restore sets those again that a live view changes. It is
// called by a process that ends at once, without ending the view.
func keepTerminal(w io.Writer) (restore func()) {
	f, ok := terminalFile(w)
	if !ok {
		return func() {}
	}
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	return func() {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil || !foreground(f) || t.Lflag&unix.ECHO == before.Lflag&unix.ECHO {
			return
		}
		t.Lflag = t.Lflag&^unix.ECHO | before.Lflag&unix.ECHO
		_ = unix.IoctlSetTermios(fd, setTermios, t) // an error cannot be handled
		shown := make(chan struct{})
		go func() { // blocks if the terminal is stopped
			fmt.Fprint(f, "\x1b[?25h\r\n") // shows the cursor, which the view hides (DECTCEM)
			close(shown)
		}()
		select {
		case <-shown:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// foreground reports whether this process may draw on the terminal. A shell's background job may not. Any process may
// draw on a terminal that is not a controlling terminal.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// followJobs erases the view when Ctrl-Z stops nearfar, and shows it again when nearfar continues in the foreground.
// end stops the handling of Ctrl-Z.
func followJobs(l *live) (end func()) {
	stops, continues := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	signal.Notify(continues, syscall.SIGCONT)
	quit := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			select {
			case <-quit:
				return
			case <-stops:
				l.suspend(func() {
					_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // a process can always stop itself
					// The call may return before all threads have stopped.
					select {
					case <-continues:
					case <-quit:
					}
				})
			case <-continues: // after a stop by another signal, such as SIGSTOP
			}
		}
	})
	return func() {
		signal.Stop(stops)
		signal.Stop(continues)
		close(quit)
		ended.Wait()
	}
}
