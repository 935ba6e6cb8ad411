package main

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's Ctrl-C from a program. It then cannot be interrupted, and is waited for.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
