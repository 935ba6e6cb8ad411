package cloudtool

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the program a process group of its own, so that Ctrl-C reaches nearfar alone. Only the program itself
// is killed at the end of its context.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
