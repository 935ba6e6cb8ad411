package machine

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Process gives the state of a process of this machine: the letter of its state ("Z" for one that has ended and is not
// reaped), and when it started, in clock ticks since boot. The number and the start time together identify the process.
// ok is false if there is no such process. See proc_pid_stat(5).
func Process(pid int) (state, started string, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", false
	}
	// The name of the program, in parentheses, can contain anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const stateAt, startedAt = 0, 19
	if len(fields) <= startedAt {
		return "", "", false
	}
	return fields[stateAt], fields[startedAt], true
}
