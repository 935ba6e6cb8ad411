//go:build unix

package cloudtool

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program the leader of a process group of its own, which is killed as a whole: az and gcloud are
// scripts that start Python.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
