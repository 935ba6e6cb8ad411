//go:build unix

package steps

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group of its own: a Ctrl-C at the terminal reaches nearfar alone,
// which then tells the whole group to end.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
