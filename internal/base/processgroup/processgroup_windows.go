// Package processgroup gives programs that nearfar starts a process group of their own.
package processgroup

import (
	"os/exec"
	"syscall"
)

// Own gives a program that is not started yet a process group of its own: Ctrl-C reaches nearfar alone. When the
// program's context ends, the program itself is killed; the signal is for other systems.
func Own(cmd *exec.Cmd, _ syscall.Signal) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
