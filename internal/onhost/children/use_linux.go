package children

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/machine"
)

// LiveUse adds up the current threads of a process.
func LiveUse(pid int) (sum machine.Use) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return sum
	}
	for _, e := range entries {
		if u, err := machine.ReadUse(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, e.Name())); err == nil {
			sum.Ran += u.Ran
			sum.Delay += u.Delay
		}
	}
	return sum
}

// An EndedUse is what an ended child used, read before it is reaped.
type EndedUse struct {
	// leader is the last thread that is left. The kernel forgets the run delay of the others as they end.
	leader machine.Use
	// total is the CPU time of all threads, also of those that ended before, and of the children that the process
	// waited for. It is known if the process could be read.
	total time.Duration
	known bool
}

// ReadEnded reads a child that has ended and is not reaped yet. proc says that /proc shows processes under the numbers
// that they have for this process; without it, less is known.
func ReadEnded(pid int, proc bool) EndedUse {
	var e EndedUse
	var ran unix.Timespec
	// The clock of the CPU time of a process, as clock_getcpuclockid(3) makes it: the complement of the process number,
	// and CPUCLOCK_SCHED in the lowest three bits.
	const cpuClockSched = 2
	if err := unix.ClockGettime(^int32(pid)<<3|cpuClockSched, &ran); err != nil {
		return e
	}
	e.total, e.known = time.Duration(ran.Nano()), true
	if !proc {
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

// childrenRan is the CPU time of the children that a process has waited for, in steps of 10 ms: cutime and cstime of
// /proc/PID/stat (proc(5)). It is 0 if the file cannot be understood.
func childrenRan(stat []byte) (sum time.Duration) {
	const cutime, cstime = 13, 14 // counted from the state, which follows the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= cstime {
		return 0
	}
	for _, field := range fields[cutime : cstime+1] {
		ticks, err := strconv.ParseUint(string(field), 10, 63)
		if err != nil {
			return 0
		}
		sum += time.Duration(ticks) * (time.Second / machine.UserHertz)
	}
	return sum
}

// knownShare is the share of a process's CPU time from which on the threads with a known run delay stand for all.
const knownShare = 0.9

// Total is the CPU time of the child, and of the children for which it waited.
func (e EndedUse) Total() time.Duration { return e.total }

// With is what a child used. live is what its threads had used when it was asked to end. delayKnown says that the run
// delay covers the threads that used most of the CPU time.
func (e EndedUse) With(live machine.Use) (used machine.Use, delayKnown bool) {
	seen := e.leader
	if live.Ran > seen.Ran {
		seen = live
	}
	delayKnown = e.known && seen.Ran > 0 && float64(seen.Ran) >= knownShare*float64(e.total)
	return machine.Use{Ran: max(e.total, seen.Ran), Delay: seen.Delay}, delayKnown
}
