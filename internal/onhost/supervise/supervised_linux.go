package supervise

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is the environment variable that has the process number of the supervisor and its PID namespace. In
// another namespace the number means another process, or none.
const supervisor = "NEARFAR_AGENT_PID"

// inNamespace is a process number with the PID namespace of this process: "1234 pid:[4026531836]".
func inNamespace(pid int) string {
	space, _ := os.Readlink("/proc/self/ns/pid") // empty without /proc
	return strconv.Itoa(pid) + " " + space
}

// livesEvery is how often a kernel before Linux 5.3, which has no file descriptors of processes, is asked whether the
// supervisor lives.
const livesEvery = 5 * time.Second

// UntilUnsupervised is a context that ends when the supervisor that started this process has ended. A process that no
// supervisor started gets ctx itself. Nothing wakes this process before. stop frees what is held.
//
// A supervisor kills its processes when it ends, and so does an agent's keeper. This is for the case that both were
// killed. A parent-death signal (PR_SET_PDEATHSIG) does not help: it comes when the thread ends that started the
// process, and the supervisor starts pinned processes on threads that end at once.
func UntilUnsupervised(ctx context.Context) (until context.Context, stop func()) {
	setting := os.Getenv(supervisor)
	number, _, _ := strings.Cut(setting, " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 || setting != inNamespace(pid) {
		return ctx, func() {}
	}
	until, cancel := context.WithCancel(ctx)
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		cancel()
		return until, func() {}
	case err == nil:
		if err = unix.SetNonblock(fd, true); err == nil {
			return until, awaitFile(os.NewFile(uintptr(fd), "supervisor"), cancel)
		}
		_ = unix.Close(fd)
	}
	go func() {
		every := time.NewTicker(livesEvery)
		defer every.Stop()
		for !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			select {
			case <-every.C:
			case <-until.Done():
				return
			}
		}
		cancel()
	}()
	return until, cancel
}

// awaitFile calls ended when the process of a file descriptor has ended. The runtime's poller waits, so no thread does.
func awaitFile(process *os.File, ended func()) (stop func()) {
	go func() {
		raw, err := process.SyscallConn()
		if err != nil {
			return
		}
		err = raw.Read(func(fd uintptr) bool {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
			n, err := unix.Poll(ready, 0)
			return err == nil && n > 0
		})
		if err == nil {
			ended()
		}
	}()
	return func() { _ = process.Close(); ended() }
}
