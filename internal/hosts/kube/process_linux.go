package kube

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"nearfar/internal/onhost/machine"
)

// Process names this process: the running kernel, the PID namespace, the number and the start time of the process. It
// is empty if that cannot be read.
func Process() string {
	here, ok := kernel()
	started, running := startTime(os.Getpid())
	if !ok || !running {
		return ""
	}
	return fmt.Sprintf("%s/%d/%s", here, os.Getpid(), started)
}

// Ended says that a process that Process named has ended. It is false for processes of other machines.
func Ended(process string) bool {
	here, ok := kernel()
	if !ok {
		return false
	}
	rest, same := strings.CutPrefix(process, here+"/")
	number, started, two := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(number)
	if !same || !two || err != nil || pid <= 0 {
		return false
	}
	now, running := startTime(pid)
	return !running || now != started
}

// kernel names the running kernel and the PID namespace of this process.
func kernel() (string, bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", false
	}
	return string(bytes.TrimSpace(boot)) + "/" + strings.Trim(strings.TrimPrefix(namespace, "pid:"), "[]"), true
}

// startTime is when a process started, in ticks since the start of the system; false if it does not run.
func startTime(pid int) (string, bool) {
	state, started, ok := machine.Process(pid)
	return started, ok && state != "Z"
}
