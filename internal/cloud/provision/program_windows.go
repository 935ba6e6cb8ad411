package provision

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach gives the program a process group of its own: Ctrl-C then reaches it once, through nearfar. It cannot share
// the lock; the program's own lock on its state keeps two apart.
func detach(cmd *exec.Cmd, _ *os.File) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// interrupt asks a program to end in order. It must be in a process group of its own.
func interrupt(p *os.Process) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
}

// terminate asks a shell to end in order.
func terminate(p *os.Process) error { return interrupt(p) }

// destroy kills a program.
func destroy(p *os.Process) error { return p.Kill() }
