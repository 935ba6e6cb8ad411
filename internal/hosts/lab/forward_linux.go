package lab

import (
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/machine"
)

// The CPU of the wires' thread depends on the CPUs of the measured processes.
//
// On the service CPU the thread takes no time from them. But to wake a process on another CPU takes an interrupt to
// that CPU, which on a virtual machine costs 15 us and more, depending on the load of the machine below.
//
// If all measured processes run on one CPU, the wires run on it too, in the lowest scheduling class (SCHED_IDLE). A
// process that a frame wakes takes the CPU at once and without an interrupt, and the CPU does not go to sleep while a
// wire waits until a frame is due.

// apart stands for the service CPU, in place of a CPU's number.
const apart = -1

// A wireCPU is where the wires' thread is to run: the number of a CPU, or apart. One thread sets it and another reads
// it. A thread that sleeps until a frame comes reads it when one has come.
type wireCPU struct{ wanted atomic.Int64 }

func newWireCPU() *wireCPU {
	s := &wireCPU{}
	s.wanted.Store(apart)
	return s
}

func (s *wireCPU) set(cpu int) { s.wanted.Store(int64(cpu)) }

// forward runs the wires, on one thread at a time. It starts a new thread for each CPU, because an ordinary user's
// thread cannot leave the lowest class again.
func forward(wires []*runningWire, clock monotonic, cpus *awake, where *wireCPU) error {
	var all []*direction
	var polled []unix.PollFd
	for _, w := range wires {
		for _, d := range w.directions {
			all = append(all, d)
			polled = append(polled, unix.PollFd{Fd: int32(d.in), Events: unix.POLLIN})
		}
	}
	for {
		cpu := where.wanted.Load()
		for _, d := range all {
			d.sent, d.late = 0, 0
		}
		ended := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			f := &forwarder{all: all, polled: polled, clock: clock, cpus: cpus, where: where, cpu: cpu}
			ended <- f.run()
		}()
		if err := <-ended; err != nil {
			return err
		}
	}
}

// A forwarder is the wires' thread on one CPU.
type forwarder struct {
	all    []*direction
	polled []unix.PollFd
	clock  monotonic
	cpus   *awake
	where  *wireCPU
	cpu    int64
}

// run forwards until it must move to another CPU. It spins while frames are on their way and for a while after the last
// one, and otherwise sleeps in poll, so that a wire without traffic costs nothing.
func (f *forwarder) run() error {
	// By default, timers may be 50 us late.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_TIMERSLACK", err)
	}
	beside := f.cpu != apart
	if beside {
		// In another class it would take the CPU from the measured processes. Then the service CPU is better.
		if machine.Pin([]int{int(f.cpu)}) != nil || setIdleClass() != nil {
			f.where.wanted.CompareAndSwap(f.cpu, apart)
			return nil
		}
	} else {
		// A high priority helps; an ordinary user may not have it.
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	}
	f.cpus.use(false)
	last := f.clock.now()
	for f.where.wanted.Load() == f.cpu {
		next := int64(math.MaxInt64)
		now := f.clock.now()
		for _, d := range f.all {
			for range receiveBatch {
				got, err := d.receive()
				if err != nil {
					return err
				}
				if !got {
					break
				}
				last = now
			}
			next = min(next, d.send())
		}
		if beside && f.starved() {
			f.where.wanted.CompareAndSwap(f.cpu, apart)
			break
		}
		sleep, wanted := f.sleep(next, now, last)
		if !wanted {
			continue
		}
		f.cpus.use(false)
		if err := poll(f.polled, sleep); err != nil {
			return err
		}
		f.cpus.use(!beside)
		last = f.clock.now()
	}
	return nil
}

// sleep says whether to sleep, and for how long; below 0 stands for until a frame comes. next is when the next frame is
// due, last when the last one came.
func (f *forwarder) sleep(next, now, last int64) (time.Duration, bool) {
	switch {
	case f.cpus.sharing.Load() > 0 && f.cpu == apart && next-now > int64(shareMargin):
		// A spinning wire would take the CPU from the measured processes. Late frames are better than that.
		if next == math.MaxInt64 {
			return -1, true
		}
		return time.Duration(next-now) - shareMargin, true
	case next == math.MaxInt64 && now-last > int64(spinTime):
		return -1, true
	case next != math.MaxInt64 && next-now > int64(wakeMargin+spinTime) && now-last > int64(wakeMargin):
		return time.Duration(next-now) - wakeMargin, true
	}
	return 0, false
}

// Measured processes may keep their CPU so busy that wires in the lowest class hardly run; streams do. Wires count as
// starved if more than a quarter of starvedFrames frames left later than starvedLate. Request/response never reaches
// that.
const (
	starvedFrames = 400
	starvedLate   = 100 * time.Microsecond
)

func (f *forwarder) starved() bool {
	sent, late := 0, 0
	for _, d := range f.all {
		sent, late = sent+d.sent, late+d.late
	}
	if sent < starvedFrames {
		return false
	}
	for _, d := range f.all {
		d.sent, d.late = 0, 0
	}
	return 4*late > sent
}

// note counts a frame that left late, in nanoseconds.
func (d *direction) note(late int64) {
	d.sent++
	if late > int64(starvedLate) {
		d.late++
	}
}
