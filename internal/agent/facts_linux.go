package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nearfar/internal/machine"
)

// readSystem reads what Linux says of the machine.
func (f *Facts) readSystem(folder string) {
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		f.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	f.Release = readRelease()
	f.BootID = readLine("/proc/sys/kernel/random/boot_id")
	f.ClockSource = readLine("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	f.Model = field("/proc/cpuinfo", "model name")
	total := strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")
	if kilobytes, err := strconv.ParseInt(total, 10, 53); err == nil {
		f.Memory = kilobytes << 10
	}
	var disk unix.Statfs_t
	if unix.Statfs(folder, &disk) == nil {
		f.Free = int64(disk.Bavail) * disk.Bsize
	}
	f.Allowed, _ = machine.CPUs()
	f.CPUs = readTopology()
}

// readTopology reads where the online CPUs are.
func readTopology() []CPU {
	folders, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil {
		return nil
	}
	var all []CPU
	for _, folder := range folders {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(folder), "cpu"))
		if err != nil || readLine(filepath.Join(folder, "online")) == "0" {
			continue // the first CPU often has no such file: it is always online
		}
		c := CPU{
			Number: n, Core: number(filepath.Join(folder, "topology/core_id")),
			Package: number(filepath.Join(folder, "topology/physical_package_id")), Node: -1,
		}
		if nodes, err := filepath.Glob(filepath.Join(folder, "node[0-9]*")); err == nil && len(nodes) == 1 {
			if node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(nodes[0]), "node")); err == nil {
				c.Node = node
			}
		}
		all = append(all, c)
	}
	return all
}

// readRelease reads some of os-release(5).
func readRelease() map[string]string {
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		release := map[string]string{}
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch name {
			case "ID", "ID_LIKE", "VERSION_ID", "PRETTY_NAME":
				release[name] = strings.Trim(value, `"'`)
			}
		}
		return release
	}
	return nil
}

// readLine reads a file with one line; empty if that fails.
func readLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// number reads a file with a number; -1 if that fails.
func number(file string) int {
	n, err := strconv.Atoi(readLine(file))
	if err != nil {
		return -1
	}
	return n
}

// field reads the first value of a name in a file with lines "name: value".
func field(file, name string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
