// Package children finds programs that become children of this process, notices that children have ended, reads what
// they used, and reaps them.
//
// The end of a child is known before the child is reaped: docs/adr/0040-reaping.md says why.
package children

import (
	"encoding/binary"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// grace is the time from the end of a child to its reaping.
const grace = 20 * time.Millisecond

// A Table knows the children that were started.
type Table interface {
	// Running lists the numbers of the children whose end was not noticed yet.
	Running() []int
	// Ended informs the table of a child that has ended and is not reaped yet. The table may not know the child.
	Ended(pid int, status unix.WaitStatus)
}

// Reap notices children that end, and reaps each a short time after its end, until stop is closed and all that ended
// are reaped; a nil stop is never closed. With orphans it also looks for children that the table does not know: the
// kernel hands orphans to a process that adopts them. At most one Reap of a process may do that.
func Reap(t Table, orphans bool, stop <-chan struct{}) {
	signals, reaped := make(chan os.Signal, 1), make(chan int)
	signal.Notify(signals, syscall.SIGCHLD)
	defer signal.Stop(signals)
	unreaped := map[int]bool{}
	// A signal between two starts of this program's own processes may be missed only if the channel is full, and then
	// one is waiting.
	for stopped := false; ; {
		for _, pid := range notice(t, orphans, unreaped) {
			unreaped[pid] = true
			time.AfterFunc(grace, func() {
				// It fails only if the child was reaped already.
				_, err := unix.Wait4(pid, nil, 0, nil)
				for errors.Is(err, unix.EINTR) {
					_, err = unix.Wait4(pid, nil, 0, nil)
				}
				reaped <- pid
			})
		}
		if stopped && len(unreaped) == 0 {
			return
		}
		select {
		case <-signals:
		case pid := <-reaped:
			delete(unreaped, pid)
		case <-stop:
			stopped, stop = true, nil
		}
	}
}

// notice looks for children that have ended, tells the table, and returns their numbers.
func notice(t Table, orphans bool, unreaped map[int]bool) (pids []int) {
	for _, pid := range t.Running() {
		if _, status, ok := endOf(unix.P_PID, pid); ok {
			t.Ended(pid, status)
			pids = append(pids, pid)
		}
	}
	if !orphans {
		return pids
	}
	// The kernel shows one ended child at a time. It shows the next one when this one has been reaped.
	if pid, status, ok := endOf(unix.P_ALL, 0); ok && !unreaped[pid] && !slices.Contains(pids, pid) {
		t.Ended(pid, status)
		pids = append(pids, pid)
	}
	return pids
}

// endOf finds a child that has ended and does not reap it (waitid(2), WNOWAIT): the child with the number id for P_PID,
// any for P_ALL.
func endOf(idType, id int) (pid int, status unix.WaitStatus, ok bool) {
	// Where waitid(2) puts the fields of siginfo_t: the union after si_code is aligned like a pointer.
	const codeAt = 8
	pidAt := 12
	if unsafe.Sizeof(uintptr(0)) == 8 {
		pidAt = 16
	}
	statusAt := pidAt + 8 // si_uid lies between the two
	var info [128]byte
	const how = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT
	if err := unix.Waitid(idType, id, (*unix.Siginfo)(unsafe.Pointer(&info)), how, nil); err != nil {
		return 0, 0, false
	}
	number := func(at int) int { return int(int32(binary.NativeEndian.Uint32(info[at:]))) }
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_DUMPED
	switch number(codeAt) {
	case exited:
		status = unix.WaitStatus(number(statusAt) << 8)
	case dumped:
		status = unix.WaitStatus(number(statusAt) | 0x80)
	default:
		status = unix.WaitStatus(number(statusAt))
	}
	pid = number(pidAt)
	return pid, status, pid > 0
}

// Exit is the exit status of a child, or -1 and the name of the signal that ended it.
func Exit(status unix.WaitStatus) (code int, signal string) {
	if status.Signaled() {
		return -1, unix.SignalName(status.Signal())
	}
	return status.ExitStatus(), ""
}
