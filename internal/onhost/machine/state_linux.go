package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Reader reads the state of this machine. It remembers where the kernel shows it.
type Reader struct {
	// softirqd are the kernel's threads for software interrupts, by CPU; nil if they are not visible. cgroup is the
	// file with the pressure of this process's control group, ran the file with the time that threads ran on each CPU;
	// "" if there is none.
	softirqd    map[int]int
	cgroup, ran string
}

// NewReader finds the files that this kernel has.
func NewReader() *Reader {
	return &Reader{softirqd: softirqThreads(), cgroup: cgroupPressure(), ran: ranFile()}
}

// Read reads the times of all CPUs, and the frequency of some of them. It reads a dozen small files.
func (r *Reader) Read(cpus, all []int) State {
	m := State{At: time.Now()}
	m.CPUs, m.Err = readCPUTimes()
	m.Ran = readRan(r.ran)
	for _, c := range all {
		pid, ok := r.softirqd[c]
		if !ok {
			m.Softirqd = nil
			break
		}
		u, err := ReadUse(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			m.Softirqd = nil
			break
		}
		if m.Softirqd == nil {
			m.Softirqd = map[int]time.Duration{}
		}
		m.Softirqd[c] = u.Ran
	}
	m.Pressure = readPressure("/proc/pressure/cpu")
	if r.cgroup != "" {
		m.Cgroup = readPressure(r.cgroup)
	}
	for _, c := range cpus {
		kilohertz, err := readNumber(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", c))
		if err == nil && (m.Frequency == 0 || kilohertz/1000 < m.Frequency) {
			m.Frequency = kilohertz / 1000
		}
	}
	return m
}

func readCPUTimes() (map[int]CPUTimes, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, err
	}
	return parseCPUTimes(stat)
}

// parseCPUTimes reads the lines "cpuN user nice system idle iowait irq softirq steal ..." of /proc/stat (proc(5)).
func parseCPUTimes(stat []byte) (map[int]CPUTimes, error) {
	const idle, iowait, softirq, steal = 4, 5, 7, 8
	all := map[int]CPUTimes{}
	for line := range bytes.Lines(stat) {
		fields := strings.Fields(string(line))
		if len(fields) <= steal || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		number, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil {
			continue // "cpu" alone is the sum of all CPUs
		}
		var ticks [steal + 1]time.Duration
		for i := idle; i <= steal; i++ {
			n, err := strconv.ParseUint(fields[i], 10, 63)
			if err != nil {
				return nil, fmt.Errorf("/proc/stat: CPU %d: %w", number, err)
			}
			ticks[i] = time.Duration(n) * (time.Second / UserHertz)
		}
		all[number] = CPUTimes{Idle: ticks[idle] + ticks[iowait], Stolen: ticks[steal], Softirq: ticks[softirq]}
	}
	if len(all) == 0 {
		return nil, errors.New("/proc/stat: no CPU is there")
	}
	return all, nil
}

// readPressure reads how long some process has waited for a CPU, in microseconds; nil if the kernel does not say. The
// file has a line "some avg10=0.00 avg60=0.00 avg300=0.00 total=120830218".
func readPressure(file string) *time.Duration {
	b, err := os.ReadFile(file)
	if total, _, ok := parsePressure(b); err == nil && ok {
		return &total
	}
	return nil
}

func parsePressure(pressure []byte) (total time.Duration, avg10 float64, ok bool) {
	var ten, sixty, threeHundred float64 // percent of the last seconds
	var micros int64
	_, err := fmt.Sscanf(string(pressure), "some avg10=%f avg60=%f avg300=%f total=%d", &ten, &sixty, &threeHundred,
		&micros)
	return time.Duration(micros) * time.Microsecond, ten / 100, err == nil
}

func readNumber(file string) (int, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(b)))
}

// cgroupPressure finds the file with the pressure of this process's control group (version 2); "" if there is none, or
// if the group is the whole machine.
func cgroupPressure() string {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(groups) {
		path, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "0::")
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
