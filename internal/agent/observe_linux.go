package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// userHertz is the unit of /proc/stat, USER_HZ: 100 a second wherever Linux runs that this program is built for.
const userHertz = 100

// readCPUs reads the state of the CPUs.
func (o *observed) readCPUs() error {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return err
	}
	if o.CPUs, err = parseCPUTimes(stat); err != nil {
		return err
	}
	o.Pressure = readPressure("/proc/pressure/cpu")
	if file := cgroupPressure(); file != "" {
		o.CgroupPressure = readPressure(file)
	}
	o.Frequencies = map[int]int{}
	for c := range o.CPUs {
		kilohertz := number(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", c))
		if kilohertz > 0 {
			o.Frequencies[c] = kilohertz / 1000
		}
	}
	return nil
}

// parseCPUTimes reads the lines "cpuN user nice system idle iowait irq softirq steal ..." of /proc/stat (proc(5)).
func parseCPUTimes(stat []byte) (map[int]cpuTimes, error) {
	const idle, iowait, softirq, steal = 4, 5, 7, 8
	all := map[int]cpuTimes{}
	for line := range bytes.Lines(stat) {
		fields := strings.Fields(string(line))
		if len(fields) <= steal || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		n, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			continue // "cpu" alone is the sum of all CPUs
		}
		var times [steal + 1]time.Duration
		for i := idle; i <= steal; i++ {
			ticks, err := strconv.ParseUint(fields[i], 10, 63)
			if err != nil {
				return nil, fmt.Errorf("/proc/stat: CPU %d: %w", n, err)
			}
			times[i] = time.Duration(ticks) * (time.Second / userHertz)
		}
		all[n] = cpuTimes{Idle: times[idle] + times[iowait], Stolen: times[steal], Softirq: times[softirq]}
	}
	return all, nil
}

// readPressure reads how long some process has waited for a CPU, in microseconds; nil if the kernel does not say. The
// file has a line "some avg10=0.00 avg60=0.00 avg300=0.00 total=120830218".
func readPressure(file string) *time.Duration {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, f := range fields[1:] {
			if text, ok := strings.CutPrefix(f, "total="); ok {
				if n, err := strconv.ParseInt(text, 10, 53); err == nil {
					total := time.Duration(n) * time.Microsecond
					return &total
				}
			}
		}
	}
	return nil
}

// cgroupPressure finds the file with the pressure of this process's control group (version 2); "" if there is none, or
// if the group is the whole machine.
func cgroupPressure() string {
	for line := range strings.Lines(readLine("/proc/self/cgroup")) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok || path == "/" {
			continue
		}
		for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			file := filepath.Join(root, path, "cpu.pressure")
			if _, err := os.Stat(file); err == nil {
				return file
			}
		}
	}
	return ""
}
