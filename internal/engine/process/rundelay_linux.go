package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// RunDelay is how long this process's threads could have run and waited for a CPU, since their start (proc(5), schedstat); 0 where it is not
// known. It is read while the threads that measured live: the kernel forgets a thread's figures as it ends. It takes some 10 us
// for each thread.
func RunDelay() time.Duration {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, thread := range threads {
		stat, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/schedstat")
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := bytes.Fields(stat) // ran, waited, time slices
		if len(fields) != 3 {
			return 0
		}
		waited, err := strconv.ParseInt(string(fields[1]), 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(waited)
	}
	return sum
}
