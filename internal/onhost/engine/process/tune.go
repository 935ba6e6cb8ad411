// Package process is about the process that measures: its threads, its CPUs and CPU time, the settings of Go's
// runtime, and the version of the build.
package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

const godebugSetting = "asyncpreemptoff=1"

// memoryLimit is a safety net. The collector is off, and only a bug would need so much memory.
const memoryLimit = 1 << 30

// Tune prepares the process for measuring: the garbage collector is off until the memory limit. Call it before any
// hot thread runs, because the change stops the world.
func Tune() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
}

// Collect lets the garbage collector run, when four fifths of the memory are garbage, until the function that it
// returns is called. It is for modes that allocate as they go and have no hot thread in the kernel.
func Collect() (done func()) {
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

// FreeMemory frees what earlier sessions of this process left. Call it between sessions, while no hot thread of
// the process runs: it stops the world.
//
// Without it, a process with many sessions would reach the memory limit in the middle of one. If a hot thread waits in
// the kernel then, the collector cannot stop the world, and the process hangs until that thread returns.
func FreeMemory() { runtime.GC() }

// Reserve makes sure that two scheduler slots are left for other goroutines. Each hot thread holds one while it is
// blocked in the kernel. Call it before any of them runs. A fixed number also keeps the runtime from changing it,
// which would stop the world.
func Reserve(hot int) { runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), hot+2)) }

// Environment is an environment variable with its value. An engine process that has it need not start itself again in
// order to set it.
func Environment() string { return "GODEBUG=" + godebugSetting }

func preemptionOff(godebug string) bool {
	return slices.ContainsFunc(strings.Split(godebug, ","), func(setting string) bool {
		return strings.TrimSpace(setting) == godebugSetting
	})
}

// WithPreemptionOff returns the environment with the setting added to GODEBUG.
func WithPreemptionOff(env []string) []string {
	setting := Environment()
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if old, found := strings.CutPrefix(kv, "GODEBUG="); found {
			if old != "" {
				setting += "," + old
			}
			continue
		}
		out = append(out, kv)
	}
	return append(out, setting)
}

// Facts are facts of this process.
func Facts() map[string]string {
	f := map[string]string{
		"os":             runtime.GOOS + "/" + runtime.GOARCH,
		"go":             runtime.Version(),
		"preemption_off": "false",
	}
	if preemptionOff(os.Getenv("GODEBUG")) {
		f["preemption_off"] = "true"
	}
	if cpus := CPUs(); cpus != "" {
		f["cpus"] = cpus
	}
	return f
}
