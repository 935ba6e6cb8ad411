//go:build unix

// Package processgroup gives programs that nearfar starts a process group of their own.
package processgroup

import (
	"os/exec"
	"syscall"
)

// Own makes a program that is not started yet the leader of a process group of its own: Ctrl-C at a terminal reaches
// nearfar alone. When the program's context ends, the whole group gets the signal end. On Windows only the program
// itself is killed then.
func Own(cmd *exec.Cmd, end syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, end) }
}
