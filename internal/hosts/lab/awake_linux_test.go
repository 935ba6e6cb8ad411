package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/machine"
)

// awakeFor is how long switchAwake switches.
const awakeFor = 3 * time.Second

// TestAwakeHoldsNothingUp: on a CPU that is kept awake and is busy, a thread of the lowest class hardly runs. The thread
// that forwards frames interrupts it at any moment, and must not wait for it then.
func TestAwakeHoldsNothingUp(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root's thread comes before all others")
	}
	cpus, err := machine.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	cpu := strconv.Itoa(cpus[0])
	load, unload := context.WithCancel(t.Context())
	var burners []*exec.Cmd
	defer func() {
		unload()
		for _, burner := range burners {
			_ = burner.Wait()
		}
	}()
	for range 4 {
		burner := exec.CommandContext(load, "taskset", "-c", cpu, "sh", "-c", "while :; do :; done")
		if err := burner.Start(); err != nil {
			t.Fatal(err)
		}
		burners = append(burners, burner)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "awake", cpu)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=3", "GODEBUG=asyncpreemptoff=1") // as startWires
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var calls, waits int
	var longest time.Duration
	_, scanned := fmt.Fscan(out, &calls, &waits, (*int64)(&longest))
	// A thread of the lowest class also ends in that class. While it ends on a busy CPU, the kernel spins in its parent
	// (shrink_dcache_parent), for minutes if it has bad luck.
	unload()
	if err := errors.Join(cmd.Wait(), scanned); err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	t.Logf("%d switches in %v; %d waited, the longest for %v", calls, awakeFor, waits, longest)
	if waits != 0 {
		t.Errorf("%d of %d switches waited, the longest for %v", waits, calls, longest)
	}
}

// switchAwake keeps a CPU awake in turns, on a thread of the same CPU, as a wire with a frame now and then. It prints how
// often it did, in how many of the calls the thread waited, and the longest of these in nanoseconds.
func switchAwake(args []string) error {
	cpu, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	a := newAwake()
	a.keep(cpu)
	runtime.LockOSThread()
	if err := errors.Join(machine.Pin([]int{cpu}), unix.Setpriority(unix.PRIO_PROCESS, 0, -20),
		unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)); err != nil {
		return err
	}
	calls, waits, longest := 0, 0, time.Duration(0)
	for end := time.Now().Add(awakeFor); time.Now().Before(end); calls++ {
		a.use(false)
		// Each time somewhat longer, so that it ends at every moment of what the other thread does then.
		if err := poll(nil, time.Duration(calls%200)*time.Microsecond/2); err != nil {
			return err
		}
		began := time.Now()
		before := waitsOfThread()
		a.use(true)
		if waitsOfThread() != before {
			waits, longest = waits+1, max(longest, time.Since(began))
		}
	}
	a.use(false)
	fmt.Println(calls, waits, int64(longest))
	return nil
}

// waitsOfThread returns how often the calling thread has waited. Go's scheduler takes a thread away where a function
// checks the size of its stack. This function has no such check, so the scheduler cannot do that between two readings.
//
//go:nosplit
func waitsOfThread() int64 {
	var u syscall.Rusage
	const thisThread = 1 // RUSAGE_THREAD
	_, _, _ = syscall.RawSyscall(syscall.SYS_GETRUSAGE, thisThread, uintptr(unsafe.Pointer(&u)), 0)
	return u.Nvcsw
}
