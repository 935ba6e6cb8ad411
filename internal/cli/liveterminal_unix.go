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

// silence keeps keys from being shown in the middle of the picture. Nothing else of the terminal is changed: Ctrl-C stays a
// signal. The function that it returns undoes it.
func silence(f *os.File) (restore func()) {
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
		// Read anew: only the echo is ours to change. In the background the terminal is somebody else's.
		if t, err := unix.IoctlGetTermios(fd, getTermios); err == nil && foreground(f) {
			t.Lflag |= unix.ECHO
			_ = unix.IoctlSetTermios(fd, setTermios, t) // there is nothing else that could be done
		}
	}
}

// keepTerminal remembers how the terminal of w is. The function that it returns makes it so again, as far as a live view
// changes it: it is for a process that ends at once.
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
		_ = unix.IoctlSetTermios(fd, setTermios, t) // there is nothing else that could be done
		shown := make(chan struct{})
		go func() { // a halted terminal takes nothing
			fmt.Fprint(f, "\x1b[?25h\r\n") // the cursor, which the view hides (DECTCEM)
			close(shown)
		}()
		select {
		case <-shown:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// foreground says whether the terminal is ours to draw on: a shell's background job may not change it. A terminal that
// controls nobody is.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// followJobs takes the view away when Ctrl-Z stops nearfar, and shows it again when it goes on in the foreground. The
// function that it returns ends that.
func followJobs(l *live) (end func()) {
	stops, goesOn := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGTSTP)
	signal.Notify(goesOn, syscall.SIGCONT)
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
					// The call may return before all threads stand still.
					select {
					case <-goesOn:
					case <-quit:
					}
				})
			case <-goesOn: // after a stop that was none of ours
			}
		}
	})
	return func() {
		signal.Stop(stops)
		signal.Stop(goesOn)
		close(quit)
		ended.Wait()
	}
}
