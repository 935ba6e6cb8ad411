package lab

import (
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"nearfar/internal/machine"
)

// awake keeps CPUs from going to sleep while a wire is in use. A CPU that sleeps while a packet is on the wire takes
// longer to wake up the longer it slept: a wire of 50 us would seem to cost 20 us more than it does. A thread of the
// lowest scheduling class (SCHED_IDLE) runs on each CPU; any other thread preempts it at once.
type awake struct {
	inUse atomic.Bool
	// sharing counts the measured processes on the wire's own CPU.
	sharing atomic.Int64

	mu   sync.Mutex
	cond *sync.Cond
	cpus map[int]bool
}

func newAwake() *awake {
	a := &awake{cpus: map[int]bool{}}
	a.cond = sync.NewCond(&a.mu)
	return a
}

// use says whether the wire is in use.
func (a *awake) use(yes bool) {
	a.inUse.Store(yes)
	if yes {
		a.mu.Lock()
		a.cond.Broadcast()
		a.mu.Unlock()
	}
}

// keep keeps a CPU awake from now on, whenever the wire is in use.
func (a *awake) keep(cpu int) {
	a.mu.Lock()
	defer a.mu.Unlock()
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
			a.mu.Lock()
			for !a.inUse.Load() {
				a.cond.Wait()
			}
			a.mu.Unlock()
			for a.inUse.Load() {
			}
		}
	}()
}

func setIdleClass() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}
