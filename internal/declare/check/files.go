package check

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// readFiles reads the facts that Linux has in files.
func (s Source) readFiles(f *Facts) {
	if s.Files == nil {
		return
	}
	f.Machine = linuxMachine(s.Files)
	f.Hostname = line(s.Files, "proc/sys/kernel/hostname")
	f.Processor = processor(s.Files)
	f.Firmware = firmware(s.Files)
	f.Settings = settings(s.Files)
	f.Cgroup = cgroup(s.Files)
	if highest := number(s.Files, "proc/sys/net/netfilter/nf_conntrack_max", 0); highest > 0 {
		f.Conntrack = &Conntrack{
			Count: number(s.Files, "proc/sys/net/netfilter/nf_conntrack_count", 0), Max: highest,
		}
	}
	f.Load = load(s.Files)
}

func processor(root fs.FS) Processor {
	p := Processor{
		IdleDriver: line(root, "sys/devices/system/cpu/cpuidle/current_driver"),
		SMT:        line(root, "sys/devices/system/cpu/smt/control"),
		Hypervisor: slices.Contains(strings.Fields(field(root, "proc/cpuinfo", "flags")), "hypervisor"),
		Governors:  values(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"),
		Drivers:    values(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_driver"),
	}
	if nodes, err := fs.Glob(root, "sys/devices/system/node/node[0-9]*"); err == nil {
		p.Nodes = len(nodes)
	}
	states, err := fs.Glob(root, "sys/devices/system/cpu/cpu0/cpuidle/state[0-9]*")
	if err != nil {
		return p
	}
	for _, state := range states {
		if name := line(root, state+"/name"); name != "" && line(root, state+"/disable") != "1" {
			p.IdleStates = append(p.IdleStates, name)
		}
	}
	return p
}

// values reads all files of a pattern and returns their contents, sorted and without repetitions.
func values(root fs.FS, pattern string) []string {
	files, err := fs.Glob(root, pattern)
	if err != nil {
		return nil
	}
	var all []string
	for _, file := range files {
		if value := line(root, file); value != "" {
			all = append(all, value)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func firmware(root fs.FS) Firmware {
	const dmi = "sys/class/dmi/id/"
	return Firmware{
		Vendor: line(root, dmi+"sys_vendor"), Product: line(root, dmi+"product_name"),
		Board: line(root, dmi+"board_vendor"), BIOS: line(root, dmi+"bios_vendor"),
		AssetTag: line(root, dmi+"chassis_asset_tag"), Xen: line(root, "sys/hypervisor/uuid"),
	}
}

// settings reads the settings that influence figures. Some of them do not exist in network namespaces other than the
// first one.
func settings(root fs.FS) map[string]string {
	names := []string{
		"core/busy_poll", "core/busy_read", "core/default_qdisc", "core/netdev_budget", "core/netdev_max_backlog",
		"core/rmem_default", "core/rmem_max", "core/rps_sock_flow_entries", "core/wmem_default", "core/wmem_max",
		"ipv4/tcp_autocorking", "ipv4/tcp_congestion_control", "ipv4/tcp_ecn", "ipv4/tcp_fastopen",
		"ipv4/tcp_min_tso_segs", "ipv4/tcp_mtu_probing", "ipv4/tcp_no_metrics_save", "ipv4/tcp_notsent_lowat",
		"ipv4/tcp_rmem", "ipv4/tcp_sack", "ipv4/tcp_slow_start_after_idle", "ipv4/tcp_timestamps",
		"ipv4/tcp_window_scaling", "ipv4/tcp_wmem",
	}
	all := map[string]string{}
	for _, name := range names {
		if value := line(root, "proc/sys/net/"+name); value != "" {
			all[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	return all
}

// cgroup reads the limits of this process's control group. In version 2 a group's limits hold for all groups below it,
// so the tightest of the group and all above it counts.
func cgroup(root fs.FS) Cgroup {
	var c Cgroup
	group := ""
	for entry := range strings.SplitSeq(line(root, "proc/self/cgroup"), "\n") {
		parts := strings.SplitN(entry, ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			group = parts[2]
		case slices.Contains(strings.Split(parts[1], ","), "cpu"):
			c.limitCPUs(ratio(line(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
				line(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us")))
		}
	}
	const mount = "sys/fs/cgroup"
	for at := path.Join(mount, path.Clean("/"+group)); strings.HasPrefix(at, mount); at = path.Dir(at) {
		if quota, period, ok := strings.Cut(line(root, at+"/cpu.max"), " "); ok {
			c.limitCPUs(ratio(quota, period))
		}
		if bytes, err := strconv.ParseInt(line(root, at+"/memory.max"), 10, 64); err == nil && bytes > 0 {
			if c.Memory == 0 || bytes < c.Memory {
				c.Memory = bytes
			}
		}
		if c.Cpuset == "" {
			c.Cpuset = line(root, at+"/cpuset.cpus.effective")
		}
	}
	return c
}

func (c *Cgroup) limitCPUs(n float64) {
	if n > 0 && (c.CPUs == 0 || n < c.CPUs) {
		c.CPUs = n
	}
}

// ratio is 0 if one of the numbers is none, such as "max".
func ratio(a, b string) float64 {
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return 0
	}
	y, err := strconv.ParseFloat(b, 64)
	if err != nil || y <= 0 {
		return 0
	}
	return x / y
}

func load(root fs.FS) Load {
	var l Load
	first, _, _ := strings.Cut(line(root, "proc/loadavg"), " ")
	l.Average, _ = strconv.ParseFloat(first, 64) // 0 if it cannot be read
	for word := range strings.FieldsSeq(line(root, "proc/pressure/cpu")) {
		if value, ok := strings.CutPrefix(word, "avg10="); ok {
			percent, _ := strconv.ParseFloat(value, 64)
			l.Pressure = percent / 100
			break // the first line is "some"
		}
	}
	return l
}
