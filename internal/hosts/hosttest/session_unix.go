//go:build unix

package hosttest

import "syscall"

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
