package machine

import (
	"context"
	"fmt"
	"os"
	"time"
)

// From these values of load average and pressure on, ReadLoad measures the CPUs for busySample: the load average covers
// the last minute, and the work in that minute may have ended.
const (
	suspiciousLoad     = 0.1
	suspiciousPressure = 0.01
	busySample         = 200 * time.Millisecond
)

// ReadLoad says how busy other programs keep the machine's CPUs. It takes 200 ms if load average or pressure suggest
// that they do, and almost no time otherwise. It is false if the kernel does not say.
func ReadLoad(ctx context.Context) (Load, bool) {
	cpus, err := CPUs()
	if err != nil {
		return Load{}, false
	}
	average, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return Load{}, false
	}
	load, ok := parseLoad(average)
	if !ok {
		return Load{}, false
	}
	load.CPUs = len(cpus)
	if pressure, err := os.ReadFile("/proc/pressure/cpu"); err == nil {
		_, load.Pressure, _ = parsePressure(pressure)
	}
	if load.Average < suspiciousLoad*float64(load.CPUs) && load.Pressure < suspiciousPressure && load.Running <= 1 {
		return load, true
	}
	before, started, ok := idleTime(cpus)
	if !ok {
		return Load{}, false
	}
	select {
	case <-ctx.Done():
		return Load{}, false
	case <-time.After(busySample):
	}
	after, ended, ok := idleTime(cpus)
	if !ok {
		return Load{}, false
	}
	load.Busy = min(1, max(0, 1-float64(after-before)/float64(ended.Sub(started))/float64(len(cpus))))
	return load, true
}

// idleTime adds up how long the CPUs had nothing to do since the machine started.
func idleTime(cpus []int) (idle time.Duration, at time.Time, ok bool) {
	all, err := readCPUTimes()
	at = time.Now()
	if err != nil {
		return 0, at, false
	}
	for _, c := range cpus {
		times, there := all[c]
		if !there {
			return 0, at, false
		}
		idle += times.Idle + times.Stolen
	}
	return idle, at, true
}

// parseLoad reads "0.44 1.21 0.67 2/317 26486" (proc(5)): the load average over a minute, and the number of runnable
// threads.
func parseLoad(loadavg []byte) (Load, bool) {
	var load Load
	var five, fifteen float64 // minutes
	_, err := fmt.Sscanf(string(loadavg), "%f %f %f %d/", &load.Average, &five, &fifteen, &load.Running)
	return load, err == nil
}
