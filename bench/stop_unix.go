//go:build unix

package main

import (
	"os"
	"syscall"
)

// hold stops a process until goOn.
func hold(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func goOn(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
