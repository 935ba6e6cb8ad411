package provision

import (
	"bytes"
	"os"

	"nearfar/internal/onhost/machine"
)

// started names the moment at which a process started: the running kernel, and the ticks since it started. ok is false
// if the process does not run; text is empty if that cannot be found out.
func started(pid int) (text string, ok bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", true
	}
	state, ticks, ok := machine.Process(pid)
	if !ok || state == "Z" {
		return "", false
	}
	return string(bytes.TrimSpace(boot)) + "/" + ticks, true
}
