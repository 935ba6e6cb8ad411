package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// RunDelay is how long this process's threads were runnable and waited for a CPU, since they started (proc(5),
// schedstat); 0 if it is not known. Read it while the measuring threads live, because the kernel forgets a thread's
// figures when it ends. It takes about 10 us for each thread.
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
