package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A use is what threads had of the CPUs: how long they ran, and how long they could have run and waited (proc(5), schedstat).
type use struct {
	Ran   time.Duration `json:"ran"`
	Delay time.Duration `json:"delay"`
}

// A processUse is that of a process that has ended. Its CPU time has that of the children for which it waited.
type processUse struct {
	use
	// Space is the namespace that it ran in, empty for what another process left behind; CPUs are those that it was bound to, none
	// where it could run on any.
	Space string `json:"space"`
	CPUs  []int  `json:"cpus,omitempty"`
	// Lived is how long the process was there.
	Lived time.Duration `json:"lived"`
	// Known says that Delay covers the threads that ran: the kernel forgets that of a thread as it ends.
	Known bool `json:"known"`
}

// A threadUse is that of a live thread of the wires.
type threadUse struct {
	use
	TID  int   `json:"tid"`
	CPUs []int `json:"cpus"`
}

// A look is what the init saw since the look before it.
type look struct {
	Ended []processUse `json:"ended,omitempty"`
	// Wires are the user-space wires of the arm since the look before, Threads those of their process since its start.
	Wires   []WireStats `json:"wires,omitempty"`
	Threads []threadUse `json:"threads,omitempty"`
}

// maxEnded bounds how many ended processes are kept for a look that may never come.
const maxEnded = 64

// look tells what was seen since the look before, of the arm's wires too.
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

// threadUses reads the threads of a process. One that ends meanwhile is left out.
func threadUses(pid int) []threadUse {
	var all []threadUse
	for _, tid := range tasks(pid) {
		u, err := readUse(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
		if err != nil {
			continue
		}
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) != nil {
			continue
		}
		t := threadUse{use: u, TID: tid}
		for c := range maxCPU {
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

// liveUse adds up the threads that a process has now.
func liveUse(pid int) use {
	var sum use
	for _, tid := range tasks(pid) {
		if u, err := readUse(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid)); err == nil {
			sum.Ran += u.Ran
			sum.Delay += u.Delay
		}
	}
	return sum
}

func readUse(file string) (use, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return use{}, err
	}
	return parseUse(b)
}

// parseUse reads "ran delay timeslices", the first two in nanoseconds.
func parseUse(schedstat []byte) (use, error) {
	fields := bytes.Fields(schedstat)
	if len(fields) != 3 {
		return use{}, fmt.Errorf("schedstat: %q", schedstat)
	}
	ran, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return use{}, fmt.Errorf("schedstat: %w", err)
	}
	delay, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return use{}, fmt.Errorf("schedstat: %w", err)
	}
	return use{time.Duration(ran), time.Duration(delay)}, nil
}

// childInfo is the part of siginfo_t that waitid(2) fills, as it lies on 64-bit machines.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	_                     [108]byte
}

// endedChild finds a child that has ended and leaves it as it is, so that its figures can still be read. It is 0 where there is
// none, and -1 where the child must be found by waiting for it.
func endedChild() int {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		return -1
	}
	var info childInfo
	err := unix.Waitid(unix.P_ALL, 0, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	switch err {
	case nil:
		return int(info.pid)
	case unix.ECHILD:
		return 0
	}
	return -1
}

// leaderUse reads the last thread that is left of a process which has ended.
func (t *processTable) leaderUse(pid int) use {
	if !t.freshProc {
		return use{} // another process may have the number there
	}
	u, err := readUse(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return use{}
	}
	return u
}

// account keeps what a child used that has just been reaped; p is nil for one that a process of the lab left behind. The lock is
// held.
func (t *processTable) account(p *process, leader use) {
	var u processUse
	if p != nil {
		u.Space, u.CPUs, u.Lived = p.space, p.cpus, time.Since(p.started)
		seen := leader
		if p.live.Ran > leader.Ran {
			seen = p.live
		}
		u.use = seen // of the threads that could still be read; Known stays false, since others may have ended before
	}
	t.recent = append(t.recent, u)
	if over := len(t.recent) - maxEnded; over > 0 {
		t.recent = slices.Delete(t.recent, 0, over)
	}
}

// takeEnded gives the processes that have ended since it was last called.
func (t *processTable) takeEnded() []processUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended := t.recent
	t.recent = nil
	return ended
}

// softirqThreads finds the kernel's threads that carry out software interrupts, by CPU. It is nil where they cannot be seen: in a
// container.
func softirqThreads() map[int]int {
	files, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil
	}
	var threads map[int]int
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		number, ok := bytes.CutPrefix(bytes.TrimSpace(name), []byte("ksoftirqd/"))
		if !ok {
			continue
		}
		cpu, err := strconv.Atoi(string(number))
		pid, pidErr := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		line, lineErr := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil || pidErr != nil || lineErr != nil || len(line) > 0 { // any process may take the name; those of the kernel have no arguments
			continue
		}
		if threads == nil {
			threads = map[int]int{}
		}
		threads[cpu] = pid
	}
	return threads
}
