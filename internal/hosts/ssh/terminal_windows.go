package ssh

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
)

// device is the console.
type device struct {
	file  *os.File
	state *term.State
}

// openTTY opens the console of this process.
func openTTY() (*tty, error) {
	file, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	state, err := term.GetState(int(file.Fd()))
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &tty{device: device{file: file, state: state}}, nil
}

// attach lets the command share the console.
func (d *device) attach(*exec.Cmd) {}

// restore undoes what ssh may have changed of the console.
func (d *device) restore() { _ = term.Restore(int(d.file.Fd()), d.state) }

func (d *device) close() { _ = d.file.Close() }

// detach keeps a command from the console, so that ssh cannot ask anything and does not get its Ctrl-C.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP,
	}
	cmd.Env = append(os.Environ(), "SSH_ASKPASS_REQUIRE=never")
}

// terminate ends ssh.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// destroy ends ssh.
func destroy(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
