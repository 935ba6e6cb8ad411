package children

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// An OOM counts the processes of this process's control group that the kernel has killed because memory was short, in
// the group or in the machine. It is not safe for concurrent use.
type OOM struct {
	// file has a line "oom_kill N"; empty if the group has none.
	file string
	seen int64
}

// NewOOM counts from now on.
func NewOOM() *OOM {
	o := &OOM{}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return o
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // cgroups(7): number, controllers, path
		if len(parts) != 3 {
			continue
		}
		file := ""
		switch parts[1] {
		case "": // version 2
			file = filepath.Join("/sys/fs/cgroup", parts[2], "memory.events")
		case "memory": // version 1
			file = filepath.Join("/sys/fs/cgroup/memory", parts[2], "memory.oom_control")
		}
		if n, known := killsIn(file); known {
			return &OOM{file, n}
		}
	}
	return o
}

// Killed says whether any process was killed since the last call. It is false where the kernel does not tell.
func (o *OOM) Killed() bool {
	n, known := killsIn(o.file)
	if !known || n <= o.seen {
		return false
	}
	o.seen = n
	return true
}

func killsIn(file string) (n int64, known bool) {
	if file == "" {
		return 0, false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
