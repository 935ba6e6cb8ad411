//go:build unix

package ssh

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// device is the controlling terminal.
type device struct {
	file  *os.File
	state *term.State
	group int // the process group of this process
}

// openTTY opens the controlling terminal of this process, if this process is in its foreground.
func openTTY() (*tty, error) {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	d := device{file: file, group: unix.Getpgrp()}
	foreground, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	if err == nil && foreground != d.group {
		err = errors.New("this process runs in the background of its terminal")
	}
	if err == nil {
		d.state, err = term.GetState(int(file.Fd()))
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &tty{device: d}, nil
}

// attach gives the terminal to a command that is started next: ssh reads the answers, and Ctrl-C ends ssh alone. ssh
// is in a process group of its own, so that a Ctrl-C during the run does not end the session.
func (d *device) attach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: int(d.file.Fd())}
}

// restore takes the terminal back.
func (d *device) restore() {
	// Without this, the kernel stops a process that takes the terminal from the background.
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	// If the terminal is closed, there is nothing to restore.
	_ = unix.IoctlSetPointerInt(int(d.file.Fd()), unix.TIOCSPGRP, d.group)
	_ = term.Restore(int(d.file.Fd()), d.state)
}

func (d *device) close() { _ = d.file.Close() }

// detach separates a command from the terminal: neither ssh nor the ssh of a jump host can then ask anything, and
// signals of the terminal's keys do not reach them.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(os.Environ(), "SSH_ASKPASS_REQUIRE=never")
}

// terminate asks ssh and what it started to end.
func terminate(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }

// destroy ends ssh and what it started.
func destroy(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
