package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/host"
)

// The names of an arm's two hosts.
const (
	clientSpace = "client"
	serverSpace = "server"
)

// Watch begins to observe who uses the CPUs (nil for any) during a trial of the arm; end ends that and gives the
// result. Both read a dozen small files, before the trial's first process and after its last one; nothing is read in
// between. The result says what the lab and the kernel do not tell.
func (l *Lab) Watch(arm string, client, server []int) (end func() host.Contention) {
	cpus := slices.Concat(client, server)
	if len(client) == 0 || len(server) == 0 {
		cpus = l.Facts().CPUs
	}
	slices.Sort(cpus)
	cpus = slices.Compact(cpus)
	threads, err := l.lookAt(arm)
	if err != nil {
		return func() host.Contention { return host.Contention{} }
	}
	all := l.Facts().CPUs
	before := l.readMachine(cpus, all)
	return func() host.Contention {
		after := l.readMachine(cpus, all)
		seen, err := l.lookAt(arm)
		if err != nil || before.err != nil || after.err != nil {
			return host.Contention{}
		}
		w := watched{
			cpus: cpus, client: client, server: server, all: all, fresh: l.Facts().FreshProc, before: before,
			after: after,
			ended: seen.Ended, wires: seen.Wires, threads: threadsSince(threads.Threads, seen.Threads),
		}
		return w.contention()
	}
}

func (l *Lab) lookAt(arm string) (look, error) {
	r, err := l.call(context.Background(), request{Op: opLook, Arm: arm})
	if err != nil {
		return look{}, err
	}
	if r.Look == nil {
		return look{}, errors.New("a look without its answer")
	}
	return *r.Look, nil
}

// threadsSince is what the threads used between two looks, without threads that ended in between.
func threadsSince(before, after []threadUse) []threadUse {
	for i := range after {
		for _, b := range before {
			if b.TID == after[i].TID && b.Ran <= after[i].Ran && b.Delay <= after[i].Delay {
				after[i].Ran -= b.Ran
				after[i].Delay -= b.Delay
			}
		}
	}
	return after
}

// A machine is the state of the machine's CPUs at a moment.
type machine struct {
	at   time.Time
	cpus map[int]cpuTimes
	// softirqd is how long the threads ran that carry out software interrupts; nil if they are not visible.
	softirqd         map[int]time.Duration
	pressure, cgroup *time.Duration
	frequency        int
	err              error
}

// cpuTimes are the times of one CPU since the machine started, in steps of 10 ms.
type cpuTimes struct{ idle, stolen, softirq time.Duration }

// readMachine reads the times of all the lab's CPUs, and the frequency of the trial's CPUs.
func (l *Lab) readMachine(cpus, all []int) machine {
	m := machine{at: time.Now()}
	stat, err := os.ReadFile("/proc/stat")
	if err == nil {
		m.cpus, err = parseCPUTimes(stat)
	}
	m.err = err
	for _, c := range all {
		pid, ok := l.softirqd[c]
		if !ok {
			m.softirqd = nil
			break
		}
		u, err := readUse(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			m.softirqd = nil
			break
		}
		if m.softirqd == nil {
			m.softirqd = map[int]time.Duration{}
		}
		m.softirqd[c] = u.Ran
	}
	m.pressure = readPressure("/proc/pressure/cpu")
	if l.cgroup != "" {
		m.cgroup = readPressure(l.cgroup)
	}
	for _, c := range cpus {
		kilohertz, err := readNumber(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", c))
		if err == nil && (m.frequency == 0 || kilohertz/1000 < m.frequency) {
			m.frequency = kilohertz / 1000
		}
	}
	return m
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
			ticks[i] = time.Duration(n) * (time.Second / userHertz)
		}
		all[number] = cpuTimes{idle: ticks[idle] + ticks[iowait], stolen: ticks[steal], softirq: ticks[softirq]}
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
	if err != nil {
		return nil
	}
	total, _, ok := parsePressure(b)
	if !ok {
		return nil
	}
	return &total
}

func parsePressure(pressure []byte) (total time.Duration, avg10 float64, ok bool) {
	for line := range bytes.Lines(pressure) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, field := range fields[1:] {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "avg10":
				percent, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return 0, 0, false
				}
				avg10 = percent / 100
			case "total":
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return 0, 0, false
				}
				total, ok = time.Duration(n)*time.Microsecond, true
			}
		}
	}
	return total, avg10, ok
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
