//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's Ctrl-C from a program: this one interrupts it, once.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
