//go:build linux

package ssh

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agentcli"
)

// Environment variables of the test binary's own processes.
const (
	levelVariable = "NEARFAR_SSH_TEST"
	rigVariable   = "NEARFAR_SSH_RIG"
)

// TestMain runs the tests as root in namespaces of their own: of networks, so that each sshd has addresses and port 22;
// of mounts, so that accounts and file systems of the tests exist for the tests alone; of processes, so that all
// processes end with the tests. Only the rig's folder below the temporary folder is seen outside, and it is removed.
//
// It is also the real agent that some tests copy to hosts. Others copy a stand-in: see standIn.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		// Otherwise every program under the race detector waits a second before it ends.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
	}
	switch {
	case isReal() && os.Args[1] == hosttest.Verb:
		os.Exit(hosttest.Main(os.Args[1:]))
	case isReal() && os.Args[1] == hostileVerb:
		os.Exit(hostileMain(os.Args[2]))
	case isReal():
		os.Exit(agentcli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	switch os.Getenv(levelVariable) {
	case promptLevel:
		os.Exit(promptMain(os.Args[1:]))
	case controllerLevel:
		os.Exit(controllerMain(os.Args[1:]))
	}
	code, err := 0, error(nil)
	switch level := os.Getenv(levelVariable); {
	case level == "tests" || os.Getuid() != 0:
		code = m.Run()
	case level == "init":
		code, err = initMain()
	default:
		code, err = outsideMain()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// outsideMain starts this program in new namespaces.
func outsideMain() (code int, err error) {
	dir, err := os.MkdirTemp("", "nearfar-ssh")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // other users go through it
		return 1, err
	}
	// The kernel ends the namespaces' first process with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := again("init")
	cmd.Env = append(cmd.Env, rigVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: unix.SIGKILL,
	}
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

// again is this program with the same arguments, on another level.
func again(level string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, levelVariable+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, levelVariable+"="+level)
	return cmd
}

// initMain is the first process of the namespaces. It mounts the files of the rig, and reaps all processes until the
// tests have ended.
func initMain() (code int, err error) {
	dir := os.Getenv(rigVariable)
	if err := mounts(dir); err != nil {
		return 1, fmt.Errorf("preparing the rig: %w", err)
	}
	cmd := again("tests")
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 1, err
		case pid == cmd.Process.Pid && status.Signaled():
			return 1, fmt.Errorf("the tests ended by %v", status.Signal())
		case pid == cmd.Process.Pid:
			return status.ExitStatus(), nil
		}
	}
}

// account is a user of the rig's hosts.
type account struct {
	name, shell string
	uid         int
}

// accounts are the users who can log in.
func accounts() []account {
	list := []account{
		{"root", "/bin/sh", 0},
		{"ordinary", "/bin/sh", 5001},
		{"bash", "/bin/bash", 5002}, // its .bashrc prints something
		{"false", "/bin/false", 5003},
		{"nologin", "/usr/sbin/nologin", 5004},
		{"noexec", "/bin/sh", 5005},   // its home and TMPDIR allow no programs
		{"other", "/bin/sh", 5006},    // another architecture
		{"msys", "/bin/sh", 5013},     // uname is of Git Bash
		{"sudo", "/bin/sh", 5007},     // sudo asks for a password
		{"bare", "/bin/sh", 5008},     // neither gzip nor sha256sum
		{"rootsudo", "/bin/sh", 5012}, // sudo needs no password
		{"forced", "/bin/sh", 5014},   // sshd starts the agent, whatever is asked for
		{"cmd", "", 5009},             // the login shell prints what cmd.exe does
		{"endless", "", 5010},         // the login shell prints without end
		{"silent", "", 5011},          // the login shell does not answer
	}
	for i, shell := range []string{"fish", "tcsh", "zsh", "busybox"} {
		if path, err := exec.LookPath(shell); err == nil {
			if shell == "busybox" {
				path = "" // a shell only by another name: see the rig's files
			}
			list = append(list, account{shell, path, 5100 + i})
		}
	}
	return list
}

func (a account) home(dir string) string { return filepath.Join(dir, "home", a.name) }

// mounts makes the users and file systems of the rig, in this mount namespace alone.
func mounts(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	passwd := "sshd:*:5000:5000::/run/sshd:/usr/sbin/nologin\n"
	for _, a := range accounts() {
		shell := a.shell
		if shell == "" {
			shell = filepath.Join(dir, "shell", a.name)
		}
		if a.name == "busybox" {
			// It is the shell only under a shell's name.
			link := filepath.Join(dir, "shell", "ash")
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(shell, link)); err != nil {
				return err
			}
			shell = link
		}
		passwd += fmt.Sprintf("%s:*:%d:%d::%s:%s\n", a.name, a.uid, a.uid, a.home(dir), shell)
		if err := os.MkdirAll(a.home(dir), 0o755); err != nil {
			return err
		}
		if err := os.Chown(a.home(dir), a.uid, a.uid); err != nil {
			return err
		}
	}
	if err := os.Mkdir("/run/sshd", 0o755); err != nil {
		return err
	}
	for path, content := range map[string]string{
		"/etc/passwd":        passwd,
		"/etc/group":         "root:x:0:\nsshd:x:5000:\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
	} {
		file := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", path, err)
		}
	}
	for name, options := range map[string]struct {
		flags uintptr
		data  string
	}{
		"noexec":   {unix.MS_NOEXEC, "mode=777"},
		"small":    {0, "mode=777,size=1m"},
		"readonly": {unix.MS_RDONLY, ""},
	} {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", at, "tmpfs", options.flags, options.data); err != nil {
			return fmt.Errorf("mounting %s: %w", at, err)
		}
	}
	return nil
}
