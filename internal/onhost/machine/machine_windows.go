package machine

import (
	"fmt"
	"math/bits"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

func kernel32(function string) *windows.LazyProc {
	return windows.NewLazySystemDLL("kernel32.dll").NewProc(function)
}

// CPUs are the CPUs that this process may use (GetProcessAffinityMask). Windows numbers them within groups of at most
// 64. On a machine with several groups they are counted through.
func CPUs() ([]int, error) {
	var cpus []int
	if groups() > 1 {
		const allGroups = 0xffff
		for c := range int(windows.GetActiveProcessorCount(allGroups)) {
			cpus = append(cpus, c)
		}
		return cpus, nil
	}
	mask, err := affinity(windows.CurrentProcess())
	for ; mask != 0; mask &= mask - 1 {
		cpus = append(cpus, bits.TrailingZeros(mask))
	}
	return cpus, err
}

// groups is the number of processor groups.
func groups() int {
	n, _, _ := kernel32("GetActiveProcessorGroupCount").Call()
	return int(uint16(n))
}

func affinity(process windows.Handle) (uint, error) {
	var mask, system uintptr
	ok, _, err := kernel32("GetProcessAffinityMask").Call(uintptr(process), uintptr(unsafe.Pointer(&mask)),
		uintptr(unsafe.Pointer(&system)))
	if ok == 0 {
		return 0, os.NewSyscallError("GetProcessAffinityMask", err)
	}
	return uint(mask), nil
}

// AffinityMask is the mask of the CPUs; 0 for none. The error says why a process cannot be bound to them.
func AffinityMask(cpus []int) (uintptr, error) {
	if len(cpus) == 0 {
		return 0, nil
	}
	if n := groups(); n > 1 {
		return 0, fmt.Errorf("this machine has %d processor groups (more than 64 CPUs): nearfar can bind processes to "+
			"CPUs only within one group. Use the placement free", n)
	}
	allowed, err := affinity(windows.CurrentProcess())
	if err != nil {
		return 0, err
	}
	var mask uintptr
	for _, c := range cpus {
		if c < 0 || c >= bits.UintSize || allowed&(1<<c) == 0 {
			return 0, fmt.Errorf("there is no CPU %d that this program may use", c)
		}
		mask |= 1 << c
	}
	return mask, nil
}

// SetProcessAffinity binds the threads of a process, and the processes that it starts, to CPUs.
func SetProcessAffinity(process windows.Handle, mask uintptr) error {
	if ok, _, err := kernel32("SetProcessAffinityMask").Call(uintptr(process), mask); ok == 0 {
		return os.NewSyscallError("SetProcessAffinityMask", err)
	}
	return nil
}

// processorTimes is SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION, in units of 100 ns. Microsoft documents DPC and Interrupt
// as reserved. They are the times in deferred procedure calls, which carry packets, and in interrupts; Kernel contains
// both, and Idle.
type processorTimes struct {
	Idle, Kernel, User, DPC, Interrupt int64
	Interrupts                         uint32
	_                                  uint32
}

// Read reads the times of all CPUs (NtQuerySystemInformation, SystemProcessorPerformanceInformation). On a machine with
// several processor groups it fails, because Windows gives the times of one group only.
func (*Reader) Read(_, _ []int) State {
	s := State{At: time.Now()}
	if n := groups(); n > 1 {
		s.Err = fmt.Errorf("the times of the CPUs of %d processor groups are not known", n)
		return s
	}
	all := make([]processorTimes, bits.UintSize)
	size := uint32(unsafe.Sizeof(all[0]))
	var got uint32
	err := windows.NtQuerySystemInformation(windows.SystemProcessorPerformanceInformation, unsafe.Pointer(&all[0]),
		size*uint32(len(all)), &got)
	if err != nil {
		s.Err = os.NewSyscallError("NtQuerySystemInformation", err)
		return s
	}
	const unit = 100 * time.Nanosecond
	s.CPUs = map[int]CPUTimes{}
	for c, t := range all[:got/size] {
		s.CPUs[c] = CPUTimes{Idle: time.Duration(t.Idle) * unit, Softirq: time.Duration(t.DPC+t.Interrupt) * unit}
	}
	return s
}
