package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// ReadUse reads a file schedstat of a process or a thread.
func ReadUse(file string) (Use, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Use{}, err
	}
	return parseUse(b)
}

// parseUse reads "ran delay timeslices", the first two in nanoseconds.
func parseUse(schedstat []byte) (u Use, err error) {
	var slices uint64
	if _, err := fmt.Sscan(string(schedstat), &u.Ran, &u.Delay, &slices); err != nil {
		return Use{}, fmt.Errorf("schedstat %q: %w", schedstat, err)
	}
	return u, nil
}

// softirqThreads finds the kernel's threads that carry out software interrupts, by CPU; nil if they are not visible, as
// in a container.
func softirqThreads() map[int]int {
	// Not filepath.Glob, which also reads the folder of each process.
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var threads map[int]int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		folder := filepath.Join("/proc", e.Name())
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err != nil {
			continue
		}
		number, ok := bytes.CutPrefix(bytes.TrimSpace(name), []byte("ksoftirqd/"))
		if !ok {
			continue
		}
		cpu, err := strconv.Atoi(string(number))
		line, lineErr := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || lineErr != nil || len(line) > 0 {
			continue // any process may take the name, but only the kernel's threads have no command line
		}
		if threads == nil {
			threads = map[int]int{}
		}
		threads[cpu] = pid
	}
	return threads
}
