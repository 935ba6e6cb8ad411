//go:build unix

package provision

import (
	"os"
	"os/exec"
	"syscall"
)

// detach gives the program the lock, and a process group of its own: Ctrl-C at a terminal then reaches it once, through
// nearfar, and not twice. A second interrupt would make it leave resources out of its state.
func detach(cmd *exec.Cmd, held *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{held}
}

// interrupt asks a program to end in order.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// terminate asks a shell to end in order. The shell ends at once, or calls its trap; the command that it runs continues
// to its end. After an interrupt, bash would continue with the next command.
func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// destroy kills a program and what it has started.
func destroy(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
