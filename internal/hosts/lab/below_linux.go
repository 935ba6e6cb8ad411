package lab

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Servers such as Redis, nginx and PostgreSQL write their titles over their environment, and with it the mark of their
// process. While the process runs, they are still below it.

// aProcess is a process in /proc. A number is given away again, but not at the same time.
type aProcess struct {
	pid, parent int
	started     uint64
}

// statOf reads a part of /proc/PID/stat (proc(5)): "pid (name) state ppid ... starttime ...". The name may contain
// anything. It is false for a process that has ended.
func statOf(pid int) (aProcess, bool) {
	const parent, started = 1, 19 // counted from the state, which follows the name
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return aProcess{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= started {
		return aProcess{}, false
	}
	p := aProcess{pid: pid}
	var errParent, errStarted error
	p.parent, errParent = strconv.Atoi(string(fields[parent]))
	p.started, errStarted = strconv.ParseUint(string(fields[started]), 10, 64)
	return p, errParent == nil && errStarted == nil
}

// deepest is how many generations of processes are followed.
const deepest = 64

// isBelow says whether a process is the started one, which must run, or one that it started.
func (t *processTable) isBelow(p *process, pid int) bool {
	if !t.hasFreshProc() {
		return false // /proc has other numbers
	}
	for range deepest {
		if pid == p.pid {
			return t.runs(p)
		}
		at, ok := statOf(pid)
		if !ok || at.parent <= 1 {
			return false
		}
		pid = at.parent
	}
	return false
}

// runs says that the process is not reaped: no other process can have its number.
func (t *processTable) runs(p *process) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byPID[p.pid] == p
}

// below lists what the process has started and what still runs below it. When it has ended, these are the init's.
func (t *processTable) below(p *process) (all []aProcess) {
	entries, err := os.ReadDir("/proc")
	if err != nil || !t.runs(p) {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == p.pid || !t.isBelow(p, pid) {
			continue
		}
		if at, ok := statOf(pid); ok {
			all = append(all, at)
		}
	}
	return all
}

// still says whether the process with the number is one of these.
func still(all []aProcess, pid int) bool {
	for _, p := range all {
		if p.pid != pid {
			continue
		}
		at, ok := statOf(pid)
		return ok && at.started == p.started
	}
	return false
}
