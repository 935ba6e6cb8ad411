//go:build !unix

package local

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
