package machine

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stolen reads the steal time of the CPUs since the machine started, averaged over them: the time
// in which the hypervisor did not run them (/proc/stat, proc(5)), in steps of 10 ms. It is false if the kernel does not
// say.
func Stolen(cpus []int) (time.Duration, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	stolen, err := parseStolen(stat, cpus)
	return stolen, err == nil
}

// parseStolen averages the eighth figure of the lines "cpuN user nice system idle iowait irq softirq steal ...".
func parseStolen(stat []byte, cpus []int) (time.Duration, error) {
	const steal = 8
	var ticks uint64
	found := 0
	for line := range bytes.Lines(stat) {
		fields := strings.Fields(string(line))
		if len(fields) <= steal || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		number, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil || !slices.Contains(cpus, number) {
			continue // "cpu" alone is the sum of all CPUs
		}
		n, err := strconv.ParseUint(fields[steal], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: the steal time of CPU %d is %q", number, fields[steal])
		}
		ticks += n
		found++
	}
	if found == 0 || found < len(cpus) {
		return 0, fmt.Errorf("/proc/stat: %d of %d CPUs are there", found, len(cpus))
	}
	return time.Duration(ticks) * (time.Second / UserHertz) / time.Duration(found), nil
}
