package steps

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the command a process group of its own, so that Ctrl-C reaches nearfar alone. Only the command itself
// is killed at its end.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
