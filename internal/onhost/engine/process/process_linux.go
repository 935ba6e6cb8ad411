//go:build !portable

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownFiles gives the calling thread its own table of open files, and says whether it did. The kernel counts
// references at every call if threads share a table, and not if only one thread uses it. The thread must end after
// its work.
func ownFiles() bool { return unix.Unshare(unix.CLONE_FILES) == nil }

// onMainThread says whether the calling thread is the process's first.
func onMainThread() bool { return unix.Gettid() == unix.Getpid() }

// cpuTime is the CPU time that this process has used, user and system.
func cpuTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}

// CPUs lists the CPUs that this process may run on: "0,2".
func CPUs() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var list []byte
	for cpu, left := 0, set.Count(); left > 0; cpu++ {
		if set.IsSet(cpu) {
			if len(list) > 0 {
				list = append(list, ',')
			}
			list = strconv.AppendInt(list, int64(cpu), 10)
			left--
		}
	}
	return string(list)
}

// Reexec replaces the process by itself with asynchronous preemption off, unless it is off already. Otherwise the
// runtime would send signals to threads that are busy for more than 10 ms. It returns only if there is nothing to do,
// or with an error.
func Reexec() error {
	if preemptionOff(os.Getenv("GODEBUG")) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program to run it again with GODEBUG=%s: %w", godebugSetting, err)
	}
	if err := syscall.Exec(self, os.Args, WithPreemptionOff(os.Environ())); err != nil {
		return fmt.Errorf("running this program again with GODEBUG=%s: %w", godebugSetting, err)
	}
	return nil
}

// Machine names the running kernel. Processes with the same name share its CPUs. Empty if it is not known.
func Machine() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
