package check

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Machine is what an operating system says of the machine and of itself. A value that it does not give is empty or 0.
type Machine struct {
	// Release is /etc/os-release: ID, VERSION_ID, PRETTY_NAME and ID_LIKE, by these names.
	Release map[string]string `json:"release,omitempty"`
	Kernel  string            `json:"kernel,omitempty"`
	// BootID names the running kernel: processes with the same one share a machine.
	BootID string `json:"boot_id,omitempty"`
	// OwnBootID says that a container has a boot id of its own (see ownBootID): another one can be on the same machine.
	OwnBootID   bool   `json:"own_boot_id,omitempty"`
	ClockSource string `json:"clock_source,omitempty"`
	// Model is the name of the CPUs, CPUs are those that are online.
	Model string `json:"model,omitempty"`
	CPUs  []CPU  `json:"cpus,omitempty"`
	// Memory is the size of the machine's memory, in bytes.
	Memory int64 `json:"memory,omitempty"`
}

// CPU is where a CPU is in the machine. Figures that the system does not tell are -1.
type CPU struct {
	Number  int `json:"number"`
	Core    int `json:"core"`
	Package int `json:"package"`
	Node    int `json:"node"`
}

// linuxMachine reads /proc, /sys and /etc of Linux below a root.
func linuxMachine(root fs.FS) Machine {
	m := Machine{
		Kernel:      line(root, "proc/sys/kernel/osrelease"),
		Release:     release(root),
		BootID:      line(root, bootIDFile),
		OwnBootID:   ownBootID(root),
		ClockSource: line(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
		Model:       field(root, "proc/cpuinfo", "model name"),
		CPUs:        cpus(root),
	}
	total := strings.TrimSuffix(field(root, "proc/meminfo", "MemTotal"), " kB")
	if kilobytes, err := strconv.ParseInt(total, 10, 53); err == nil {
		m.Memory = kilobytes << 10
	}
	return m
}

// bootIDFile is where Linux shows the boot id of its kernel.
const bootIDFile = "proc/sys/kernel/random/boot_id"

// ownBootID says that another file is mounted over the kernel's boot id. LXC and systemd-nspawn do that in each of
// their containers, so that two containers on one machine look like two machines. Sources: lxc, pull request 3034,
// "start: generate new boot id on container start"; systemd, setup_boot_id in nspawn.c. The fifth field of mountinfo is
// the mount point (proc(5)).
func ownBootID(root fs.FS) bool {
	for text := range strings.Lines(line(root, "proc/self/mountinfo")) {
		if fields := strings.Fields(text); len(fields) > 4 && fields[4] == "/"+bootIDFile {
			return true
		}
	}
	return false
}

// cpus reads where the online CPUs are, in ascending order.
func cpus(root fs.FS) []CPU {
	folders, err := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*")
	if err != nil {
		return nil
	}
	var all []CPU
	for _, folder := range folders {
		n, err := strconv.Atoi(strings.TrimPrefix(path.Base(folder), "cpu"))
		if err != nil || line(root, folder+"/online") == "0" {
			continue // the first CPU often has no such file: it is always online
		}
		c := CPU{
			Number: n, Core: number(root, folder+"/topology/core_id", -1),
			Package: number(root, folder+"/topology/physical_package_id", -1), Node: -1,
		}
		if nodes, err := fs.Glob(root, folder+"/node[0-9]*"); err == nil && len(nodes) == 1 {
			if node, err := strconv.Atoi(strings.TrimPrefix(path.Base(nodes[0]), "node")); err == nil {
				c.Node = node
			}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b CPU) int { return a.Number - b.Number })
	return all
}

// release reads some of os-release(5).
func release(root fs.FS) map[string]string {
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		b, err := fs.ReadFile(root, file)
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

// line reads a file with one line; empty if that fails.
func line(root fs.FS, file string) string {
	b, err := fs.ReadFile(root, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a file with a number; missing if that fails.
func number(root fs.FS, file string, missing int) int {
	n, err := strconv.Atoi(line(root, file))
	if err != nil {
		return missing
	}
	return n
}

// field reads the first value of a name in a file with lines "name: value".
func field(root fs.FS, file, name string) string {
	b, err := fs.ReadFile(root, file)
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
