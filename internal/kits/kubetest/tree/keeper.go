//go:build linux

package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockFD is where the keeper has the lock of the cluster's folder (LockName), which the test took.
const lockFD = 3

// LockName is a file of the cluster's folder. It is locked as long as the test or the keeper runs.
const LockName = "lock"

// Keeper is the keeper of a cluster, as a command. Its lock is the locked file of the folder.
func Keeper(folder string, nodes []string, lock *os.File) *exec.Cmd {
	// It ends when its standard input does, whatever happens to a context.
	args := append([]string{noTests, keeperVerb, folder}, nodes...)
	cmd := exec.CommandContext(context.Background(), "/proc/self/exe", args...)
	cmd.ExtraFiles = []*os.File{lock}
	// A session of its own: Ctrl-C reaches the test alone, and the keeper cleans up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// keep is the keeper: it makes the control groups, starts the first process of the cluster, passes requests on until
// they end, and removes everything.
func keep(args []string) error {
	if len(args) == 0 {
		return errors.New("the keeper is started by kubetest itself")
	}
	folder, nodes := args[0], args[1:]
	runtime.LockOSThread() // the end of this thread would kill the first process
	first, requests, err := begin(folder, nodes)
	if err == nil {
		_, err = io.Copy(requests, os.Stdin)
		if errors.Is(err, syscall.EPIPE) {
			// The first process has ended. The test reads its log before it closes the requests.
			_, err = io.Copy(io.Discard, os.Stdin)
		}
		_ = first.Process.Kill()
		_ = first.Wait()
	}
	return errors.Join(err, Remove(folder))
}

func begin(folder string, nodes []string) (*exec.Cmd, io.Writer, error) {
	unix.CloseOnExec(lockFD)
	if err := makeGroups(groupOf(folder), nodes); err != nil {
		return nil, nil, err
	}
	log, err := os.Create(filepath.Join(folder, "log", "cluster.log"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = log.Close() }()
	first := exec.CommandContext(context.Background(), "/proc/self/exe", initVerb)
	first.Stdout, first.Stderr = os.Stdout, log
	first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL, Setsid: true,
	}
	requests, err := first.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := first.Start(); err != nil {
		return nil, nil, fmt.Errorf("making namespaces: %w", err)
	}
	(&replies{w: os.Stdout}).send(Reply{PID: first.Process.Pid})
	// From now on only the first process holds the replies: when it ends, the test sees that.
	return first, requests, os.Stdout.Close()
}

// namespaces are those of the cluster, and again of each node.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC

// patience is how long removing waits for processes that have been killed.
const patience = 20 * time.Second

// Remove removes what a cluster leaves when its processes are gone: control groups, and its folder.
func Remove(folder string) error {
	return errors.Join(RemoveGroups(groupOf(folder)), os.RemoveAll(folder))
}

// Sweep removes what clusters have left whose keeper was killed: folders that match a pattern, and their control
// groups.
func Sweep(pattern string) error {
	folders, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		lock, err := os.Open(filepath.Join(folder, LockName))
		if err != nil {
			continue // it is being made, or is removed by another test
		}
		// A folder that is being made is not locked for a moment.
		info, err := lock.Stat()
		if err == nil && time.Since(info.ModTime()) > time.Minute &&
			unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = Remove(folder)
		}
		_ = lock.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
