package supervise

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/machine"
)

// userHertz is the unit of /proc/PID/stat, USER_HZ: 100 a second wherever Linux runs that this program is built for.
const userHertz = 100

// liveUse adds up the current threads of a process.
func liveUse(pid int) (sum machine.Use) {
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

// An endedUse is what an ended process used, read before it is reaped.
type endedUse struct {
	// leader is the last thread that is left. The kernel forgets the run delay of the others as they end.
	leader machine.Use
	// total is the CPU time of all threads, also of those that ended before, and of the children that the process
	// waited for.
	total time.Duration
	known bool
}

// readEnded reads a child that has ended and is not reaped yet.
func readEnded(pid int) endedUse {
	var e endedUse
	var ran unix.Timespec
	// The clock of the CPU time of a process, as clock_getcpuclockid(3) makes it: the complement of the process number,
	// and CPUCLOCK_SCHED in the lowest three bits.
	const cpuClockSched = 2
	if err := unix.ClockGettime(^int32(pid)<<3|cpuClockSched, &ran); err != nil {
		return e
	}
	e.total, e.known = time.Duration(ran.Nano()), true
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		e.total += childrenRan(stat)
	}
	e.leader, _ = machine.ReadUse(fmt.Sprintf("/proc/%d/schedstat", pid))
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
		sum += time.Duration(ticks) * (time.Second / userHertz)
	}
	return sum
}

// knownShare is the share of a process's CPU time from which the threads whose run delay was read stand for all.
const knownShare = 0.9

// use is what the process used, once it has ended.
func (p *tree) use(ended endedUse) Use {
	seen := ended.leader
	p.trees.mu.Lock()
	if p.live.Ran > seen.Ran {
		seen = p.live
	}
	p.trees.mu.Unlock()
	return Use{
		Ran: max(ended.total, seen.Ran), Delay: seen.Delay, Lived: time.Since(p.started), CPUs: p.cpus,
		DelayKnown: ended.known && seen.Ran > 0 && float64(seen.Ran) >= knownShare*float64(ended.total),
	}
}
