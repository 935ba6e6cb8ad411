package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/machine"
)

// A processUse is what a process used that has ended. Ran includes the children for which it waited.
type processUse struct {
	machine.Use
	// Space is the namespace that it ran in, empty for an orphan; CPUs are those to which it was bound, empty for any.
	Space string `json:"space"`
	CPUs  []int  `json:"cpus,omitempty"`
	// Lived is the lifetime of the process.
	Lived time.Duration `json:"lived"`
	// Known says that Delay covers the threads that used most of the CPU time. The kernel forgets a thread's delay when
	// the thread ends.
	Known bool `json:"known"`
}

// A threadUse is the use of a live thread of the wires.
type threadUse struct {
	machine.Use
	TID  int   `json:"tid"`
	CPUs []int `json:"cpus"`
}

// A look is what happened in the lab since the previous look.
type look struct {
	Ended []processUse `json:"ended,omitempty"`
	// Wires are the arm's user-space wires since the previous look, Threads the threads of their process since its
	// start.
	Wires   []WireStats `json:"wires,omitempty"`
	Threads []threadUse `json:"threads,omitempty"`
}

// maxEnded bounds how many ended processes are kept for the next look, which may never come.
const maxEnded = 64

// look says what happened since the previous look, with the arm's wires.
func (s *initServer) look(arm string) (look, error) {
	a, err := s.arm(arm)
	if err != nil {
		return look{}, err
	}
	seen := look{Ended: s.processes.takeEnded()}
	if a.wires == nil {
		return seen, nil
	}
	if seen.Wires, err = a.wires.recent(); err != nil {
		return look{}, err
	}
	seen.Threads = threadUses(a.wires.process.pid)
	return seen, nil
}

// threadUses reads the threads of a process. A thread that ends meanwhile is left out.
func threadUses(pid int) []threadUse {
	var all []threadUse
	for _, tid := range tasks(pid) {
		u, err := machine.ReadUse(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
		if err != nil {
			continue
		}
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) != nil {
			continue
		}
		t := threadUse{Use: u, TID: tid}
		for c := range machine.MaxCPU {
			if set.IsSet(c) {
				t.CPUs = append(t.CPUs, c)
			}
		}
		all = append(all, t)
	}
	return all
}

// tasks lists the threads of a process.
func tasks(pid int) []int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, tid)
		}
	}
	return all
}

// liveUse adds up the current threads of a process.
func liveUse(pid int) machine.Use {
	var sum machine.Use
	for _, tid := range tasks(pid) {
		if u, err := machine.ReadUse(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid)); err == nil {
			sum.Ran += u.Ran
			sum.Delay += u.Delay
		}
	}
	return sum
}

// A childEnd is how a child ended.
type childEnd struct {
	pid    int
	status unix.WaitStatus
}

// endOfChild finds a child that has ended and does not reap it: the child with the number id for P_PID, any for P_ALL.
func endOfChild(idType, id int) (childEnd, bool) {
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
		return childEnd{}, false
	}
	number := func(at int) int { return int(int32(binary.NativeEndian.Uint32(info[at:]))) }
	end := childEnd{pid: number(pidAt)}
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_DUMPED
	switch number(codeAt) {
	case exited:
		end.status = unix.WaitStatus(number(statusAt) << 8)
	case dumped:
		end.status = unix.WaitStatus(number(statusAt) | 0x80)
	default:
		end.status = unix.WaitStatus(number(statusAt))
	}
	return end, end.pid > 0
}

// An endedUse is what an ended process used, read before it is reaped.
type endedUse struct {
	// leader is the last thread that is left. The kernel forgets the run delay of the others as they end.
	leader machine.Use
	// total is the CPU time of all threads, also of those that ended before, and of the children that the process
	// waited for. It is known if the process could be read.
	total time.Duration
	known bool
}

// readEnded reads a child that has ended and is not reaped yet.
func (t *processTable) readEnded(pid int) endedUse {
	var e endedUse
	var ran unix.Timespec
	if err := unix.ClockGettime(processClock(pid), &ran); err != nil {
		return e
	}
	e.total, e.known = time.Duration(ran.Nano()), true
	if !t.hasFreshProc() {
		return e // another process may have the number there
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		e.total += childrenRan(stat)
	}
	if u, err := machine.ReadUse(fmt.Sprintf("/proc/%d/schedstat", pid)); err == nil {
		e.leader = u
	}
	return e
}

// processClock is the clock of the CPU time of a process, as clock_getcpuclockid(3) makes it: the complement of the
// process number, and CPUCLOCK_SCHED in the lowest three bits.
func processClock(pid int) int32 {
	const cpuClockSched = 2
	return ^int32(pid)<<3 | cpuClockSched
}

// childrenRan is the CPU time of the children that a process has waited for, in steps of 10 ms: cutime and cstime of
// /proc/PID/stat (proc(5)). It is 0 if the file cannot be understood.
func childrenRan(stat []byte) time.Duration {
	const cutime, cstime = 13, 14 // counted from the state, which follows the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= cstime {
		return 0
	}
	var sum time.Duration
	for _, field := range fields[cutime : cstime+1] {
		ticks, err := strconv.ParseUint(string(field), 10, 63)
		if err != nil {
			return 0
		}
		sum += time.Duration(ticks) * (time.Second / machine.UserHertz)
	}
	return sum
}

// knownShare is the share of a process's CPU time from which the threads whose run delay was read stand for all.
const knownShare = 0.9

// account keeps what a child used that has ended; p is nil for one that a process of the lab left behind. The
// lock is held.
func (t *processTable) account(p *process, ended endedUse) {
	u := processUse{Use: machine.Use{Ran: ended.total}}
	if p != nil {
		u.Space, u.CPUs, u.Lived = p.space, p.cpus, time.Since(p.started)
		seen := ended.leader
		if p.live.Ran > seen.Ran {
			seen = p.live
		}
		u.Delay = seen.Delay
		u.Known = ended.known && seen.Ran > 0 && float64(seen.Ran) >= knownShare*float64(u.Ran)
		u.Ran = max(u.Ran, seen.Ran)
	}
	t.recent = append(t.recent, u)
	if over := len(t.recent) - maxEnded; over > 0 {
		t.recent = slices.Delete(t.recent, 0, over)
	}
}

// takeEnded returns the processes that have ended since it was last called.
func (t *processTable) takeEnded() []processUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended := t.recent
	t.recent = nil
	return ended
}
