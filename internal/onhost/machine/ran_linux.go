package machine

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// cpuacct is the root of the control groups that account for CPU time (version 1). Only a root group has rootFile; a
// container may see another group as its root.
const (
	cpuacct  = "/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu"
	rootFile = "/sys/fs/cgroup/cpuacct/release_agent"
)

// ranFile finds a file that counts for each CPU how long threads ran there, without software interrupts that
// interrupted an idle CPU; "" if the kernel has no such file.
func ranFile() string {
	if _, err := os.Stat("/proc/schedstat"); err == nil {
		return "/proc/schedstat"
	}
	if _, err := os.Stat(rootFile); err == nil {
		return cpuacct
	}
	return ""
}

// readRan reads how long threads ran on each CPU; nil if the kernel does not say.
func readRan(file string) map[int]time.Duration {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	if file == cpuacct {
		return parseUsagePerCPU(b)
	}
	return parseSchedstat(b)
}

// parseUsagePerCPU reads cpuacct.usage_percpu: nanoseconds for each CPU, in the order of their numbers (Linux,
// Documentation/admin-guide/cgroup-v1/cpuacct.rst).
func parseUsagePerCPU(usage []byte) map[int]time.Duration {
	ran := map[int]time.Duration{}
	for i, field := range strings.Fields(string(usage)) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil
		}
		ran[i] = time.Duration(n)
	}
	return ran
}

// parseSchedstat reads the lines "cpuN ..." of /proc/schedstat, whose seventh number is the time in nanoseconds that
// threads ran there (Linux, Documentation/scheduler/sched-stats.rst). Versions before 15 count in other units.
func parseSchedstat(stat []byte) map[int]time.Duration {
	const time7 = 7
	ran := map[int]time.Duration{}
	for line := range bytes.Lines(stat) {
		fields := strings.Fields(string(line))
		if len(fields) == 2 && fields[0] == "version" {
			if version, err := strconv.Atoi(fields[1]); err != nil || version < 15 {
				return nil
			}
		}
		if len(fields) <= time7 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		number, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			return nil
		}
		n, err := strconv.ParseInt(fields[time7], 10, 64)
		if err != nil {
			return nil
		}
		ran[number] = time.Duration(n)
	}
	return ran
}
