// Package process is what the engine knows and sets of its own process: its threads, CPUs and CPU time, the runtime's settings,
// and the version of the build.
package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

const godebugSetting = "asyncpreemptoff=1"

// memoryLimit is the safety net: with the collector off, nothing but a fault of ours gets there.
const memoryLimit = 1 << 30

// Tune readies the process for measuring: the garbage collector rests until the memory limit. It must be called before
// any hot thread runs, for changing the setting stops the world.
func Tune() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryLimit)
}

// Reserve makes sure that the hot threads, each of which holds a scheduler slot while it is blocked in the
// kernel, leave two for the rest. It must be called before any of them runs. Setting the number, even to what it is,
// also keeps the runtime from adapting it by itself, for which it would stop the world.
func Reserve(hot int) { runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), hot+2)) }

// Environment is the environment setting that an engine process must be started with to save it starting itself again.
func Environment() string { return "GODEBUG=" + godebugSetting }

func preemptionOff(godebug string) bool {
	for setting := range strings.SplitSeq(godebug, ",") {
		if strings.TrimSpace(setting) == godebugSetting {
			return true
		}
	}
	return false
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

// Facts are what is true of this process.
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
