package lab

import (
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Where the wires' thread runs depends on where what is measured does.
//
// Apart from it, on the service CPU, it is never in its way. But to wake a process on another CPU takes an interrupt to
// that CPU, which on a virtual machine keeps both for 15 us and more, and the longer the more the host has to do.
//
// Where all that is measured runs on one CPU, the wires run beside it on the same, in the lowest scheduling class
// (SCHED_IDLE): what a frame wakes takes the CPU at once and without an interrupt, and a CPU on which a wire waits for a
// frame's time does not go to sleep.

// apart is the seat on the service CPU; the others are the numbers of CPUs.
const apart = -1

// A seat is where the wires' thread is to run: it is told by one thread and asked by another. A thread that sleeps until a
// frame comes asks when one has come.
type wireCPU struct{ wanted atomic.Int64 }

func newWireCPU() *wireCPU {
	s := &wireCPU{}
	s.wanted.Store(apart)
	return s
}

func (s *wireCPU) set(cpu int) { s.wanted.Store(int64(cpu)) }

// forward runs the wires, on one thread at a time: each seat has its own, because an ordinary user cannot leave the lowest
// class again.
func forward(wires []*runningWire, cpus *awake, where *wireCPU) error {
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
			runtime.LockOSThread() // never unlocked: the thread ends with its seat
			f := &forwarder{all: all, polled: polled, cpus: cpus, where: where, cpu: cpu}
			ended <- f.run()
		}()
		if err := <-ended; err != nil {
			return err
		}
	}
}

// A forwarder is the wires' thread in one seat.
type forwarder struct {
	all    []*direction
	polled []unix.PollFd
	cpus   *awake
	where  *wireCPU
	cpu    int64
}

// run forwards until another seat is wanted. It spins while frames are on their way or were seen lately, and else sleeps in
// poll, so that a wire without traffic costs nothing.
func (f *forwarder) run() error {
	// Timers of ordinary threads may be 50 us late.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_TIMERSLACK", err)
	}
	beside := f.cpu != apart
	if beside {
		// In another class it would take the CPU from what is measured there; then rather apart.
		if setAffinity([]int{int(f.cpu)}) != nil || setIdleClass() != nil {
			f.where.wanted.CompareAndSwap(f.cpu, apart)
			return nil
		}
	} else {
		// To be ahead of others on its CPU helps; an ordinary user may not ask for it.
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -20)
	}
	f.cpus.use(false)
	last := time.Now().UnixNano()
	for f.where.wanted.Load() == f.cpu {
		next := int64(math.MaxInt64)
		now := time.Now().UnixNano()
		for _, d := range f.all {
			for range receiveBatch {
				got, err := d.receive(now)
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
		last = time.Now().UnixNano()
	}
	return nil
}

// sleep says whether to sleep, and for how long; below 0, until something comes. next is when the next frame is due, last
// when one came.
func (f *forwarder) sleep(next, now, last int64) (time.Duration, bool) {
	switch {
	case f.cpus.sharing.Load() > 0 && f.cpu == apart && next-now > int64(shareMargin):
		// A spinning wire would take the CPU from what is measured on it. Late is better than that.
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

// What is measured may keep its CPU so busy that wires in the lowest class hardly get it: a stream does. They are starved
// when of so many frames more than a quarter left so late. Request and response never come to that.
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

// note counts a frame that has left so many nanoseconds late.
func (d *direction) note(late int64) {
	d.sent++
	if late > int64(starvedLate) {
		d.late++
	}
}
