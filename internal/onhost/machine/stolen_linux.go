package machine

import "time"

// Stolen reads the steal time of the CPUs since the machine started, averaged over them: the time
// in which the hypervisor did not run them (/proc/stat, proc(5)), in steps of 10 ms. It is false if the kernel does not
// say.
func Stolen(cpus []int) (time.Duration, bool) {
	all, err := readCPUTimes()
	if err != nil {
		return 0, false
	}
	return meanStolen(all, cpus)
}

// meanStolen is false if a CPU is not known, or none is asked for.
func meanStolen(all map[int]CPUTimes, cpus []int) (mean time.Duration, ok bool) {
	if len(cpus) == 0 {
		return 0, false
	}
	for _, c := range cpus {
		times, known := all[c]
		if !known {
			return 0, false
		}
		mean += times.Stolen
	}
	return mean / time.Duration(len(cpus)), true
}
