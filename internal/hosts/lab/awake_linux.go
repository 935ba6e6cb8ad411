package lab

import (
	"math"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/machine"
)

// awake keeps CPUs from going to sleep while a wire is in use. A CPU that sleeps while a packet is on the wire takes
// longer to wake up the longer it slept: a wire of 50 us would seem to cost 20 us more than it does. A thread of the
// lowest scheduling class (SCHED_IDLE) runs on each CPU; any other thread preempts it at once.
//
// On a busy CPU such a thread runs for some microseconds every few seconds. Whatever lock it holds then is held for
// seconds, so it shares none with the thread that forwards frames: they share a number, on which the kernel lets it wait
// (futex(2)).
type awake struct {
	// inUse is 1 while the wire is in use, otherwise 0.
	inUse atomic.Uint32
	// sharing counts the measured processes on the wire's own CPU.
	sharing atomic.Int64
	// cpus are those that are kept awake. Only keep uses it.
	cpus map[int]bool
}

// The operations of futex(2) on a number of one process (linux/futex.h).
const (
	futexWait = 0 | 128
	futexWake = 1 | 128
)

func newAwake() *awake { return &awake{cpus: map[int]bool{}} }

// use says whether the wire is in use. It never waits, not even for Go's scheduler, which takes a thread away where a
// function checks the size of its stack: this one does not.
//
//go:nosplit
func (a *awake) use(yes bool) {
	if !yes {
		a.inUse.Store(0)
		return
	}
	if a.inUse.Swap(1) == 0 {
		_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, a.number(), futexWake, math.MaxInt32, 0, 0, 0)
	}
}

func (a *awake) number() uintptr { return uintptr(unsafe.Pointer(&a.inUse)) }

// keep keeps a CPU awake from now on, whenever the wire is in use. It is for one goroutine.
func (a *awake) keep(cpu int) {
	if a.cpus[cpu] {
		return
	}
	a.cpus[cpu] = true
	go func() {
		runtime.LockOSThread() // never unlocked
		// In another class the thread would take the CPU from the measured processes.
		if machine.Pin([]int{cpu}) != nil || setIdleClass() != nil {
			return
		}
		for {
			for a.inUse.Load() == 0 {
				a.wait()
			}
			for a.inUse.Load() != 0 {
			}
		}
	}()
}

// wait waits until the wire may be in use. Between two frames that is soon, and the thread stays away from the locks of
// Go's scheduler, which the thread that forwards takes too. After a while without frames it goes through the scheduler,
// which could otherwise not rest.
func (a *awake) wait() {
	soon := unix.NsecToTimespec(int64(100 * time.Millisecond))
	_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, a.number(), futexWait, 0, uintptr(unsafe.Pointer(&soon)), 0, 0)
	if errno == unix.ETIMEDOUT {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, a.number(), futexWait, 0, 0, 0, 0)
	}
}

func setIdleClass() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}
