package supervise

import (
	"encoding/binary"
	"errors"
	"os"
	"os/signal"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reapGrace is the time from the end of a process to its reaping: see docs/adr/0040-reaping.md.
const reapGrace = 20 * time.Millisecond

// reap notices children that end, and reaps them after reapGrace, until the trees are closed.
func (t *trees) reap() {
	children, reaped := make(chan os.Signal, 1), make(chan int)
	signal.Notify(children, unix.SIGCHLD)
	defer signal.Stop(children)
	unreaped := map[int]bool{}
	// A signal between two starts of this program's own processes may be missed only if the channel is full, and then
	// one is waiting.
	for stopped := false; ; {
		for _, pid := range t.noticeEnds(unreaped) {
			unreaped[pid] = true
			time.AfterFunc(reapGrace, func() {
				// Without the lock, because the call may take long. It fails only if the child is gone.
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
		stop := t.stop
		if stopped {
			stop = nil
		}
		select {
		case <-children:
		case pid := <-reaped:
			delete(unreaped, pid)
		case <-stop:
			stopped = true
		}
	}
}

// noticeEnds looks for children that have ended, tells those who wait for them, and returns their numbers. If this
// process does nothing but supervise, it also finds the orphans that the kernel handed to it.
func (t *trees) noticeEnds(unreaped map[int]bool) (pids []int) {
	t.mu.Lock()
	var running []int
	for pid := range t.byPID {
		running = append(running, pid)
	}
	t.mu.Unlock()
	for _, pid := range running {
		if _, end, ok := endOfChild(unix.P_PID, pid); ok {
			t.noticed(pid, end)
			pids = append(pids, pid)
		}
	}
	if !t.alone {
		return pids
	}
	// The kernel shows one child after the other: the next one when this one has been reaped.
	if pid, end, ok := endOfChild(unix.P_ALL, 0); ok && !unreaped[pid] {
		for _, seen := range pids {
			if seen == pid {
				return pids
			}
		}
		t.noticed(pid, end)
		pids = append(pids, pid)
	}
	return pids
}

// noticed tells those who wait for a child that it has ended.
func (t *trees) noticed(pid int, end End) {
	end.At = time.Now()
	used := readEnded(pid)
	t.mu.Lock()
	p := t.byPID[pid]
	delete(t.byPID, pid)
	t.mu.Unlock()
	if p == nil {
		return // an orphan
	}
	t.used(p.use(used))
	p.end = end
	close(p.ended)
}

// endOfChild finds a child that has ended and does not reap it (waitid(2), WNOWAIT): the child with the number id for
// P_PID, any for P_ALL.
func endOfChild(idType, id int) (pid int, end End, ok bool) {
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
		return 0, End{}, false
	}
	number := func(at int) int { return int(int32(binary.NativeEndian.Uint32(info[at:]))) }
	const exited = 1 // CLD_EXITED
	if pid = number(pidAt); number(codeAt) == exited {
		end.Code = number(statusAt)
	} else {
		end.Code, end.Signal = -1, unix.SignalName(unix.Signal(number(statusAt)))
	}
	return pid, end, pid > 0
}
