package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// comparedFacts lists the facts that are compared. A test requires that each key of Facts is listed here, or among
// those that are left out with the reason.
func comparedFacts() []compared {
	facts := []compared{
		single("os", "operating system", true, func(f *Facts) string { return f.OS }),
		single("arch", "architecture", true, func(f *Facts) string { return f.Arch }),
		single("release", "system", false, func(f *Facts) string { return f.system() }),
		single("kernel", "kernel", true, func(f *Facts) string { return f.Kernel }),
		single("model", "CPU", true, func(f *Facts) string { return f.Model }),
		single("cpus", "number of CPUs", false, func(f *Facts) string { return numberText(len(f.CPUs)) }),
		single("clock_source", "clock source", true, func(f *Facts) string { return f.ClockSource }),
		single("processor.hypervisor", "virtual machine", true, virtual),
		single("processor.governors", "CPU governor", false, func(f *Facts) string {
			return joined(f.Processor.Governors)
		}),
		single("processor.drivers", "driver of CPU frequency", false, func(f *Facts) string {
			return joined(f.Processor.Drivers)
		}),
		single("processor.idle_driver", "driver of C-states", false, func(f *Facts) string {
			return f.Processor.IdleDriver
		}),
		single("processor.idle_states", "C-states", false, func(f *Facts) string {
			return joined(f.Processor.IdleStates)
		}),
		single("processor.smt", "SMT", false, func(f *Facts) string { return f.Processor.SMT }),
		single("processor.nodes", "NUMA nodes", false, func(f *Facts) string { return numberText(f.Processor.Nodes) }),
		single("firmware.vendor", "vendor of the machine", true, func(f *Facts) string { return f.Firmware.Vendor }),
		single("firmware.product", "product", false, func(f *Facts) string { return f.Firmware.Product }),
		single("firmware.board", "vendor of the board", false, func(f *Facts) string { return f.Firmware.Board }),
		single("firmware.bios", "vendor of the firmware", false, func(f *Facts) string { return f.Firmware.BIOS }),
		single("conntrack.max", "size of the connection table", false, func(f *Facts) string {
			if f.Conntrack == nil {
				return ""
			}
			return numberText(f.Conntrack.Max)
		}),
		single("cgroup.cpus", "CPU limit", false, limit(func(c Cgroup) string {
			if c.CPUs == 0 {
				return ""
			}
			return strconv.FormatFloat(c.CPUs, 'g', 4, 64) + " CPUs"
		})),
		single("cgroup.memory", "memory limit", false, limit(func(c Cgroup) string { return sizeText(c.Memory) })),
		single("cgroup.cpuset", "CPUs in the cpuset", false, func(f *Facts) string {
			return numberText(cpusIn(f.Cgroup.Cpuset))
		}),
		{fact: "settings", name: "setting", values: func(f *Facts) map[string]string { return f.Settings }},
	}
	memory := single("memory", "memory", false, func(f *Facts) string { return sizeText(f.Memory) })
	memory.about = 0.05 // kernels take different shares of the same memory for themselves
	facts = append(facts, memory)
	facts = append(facts, whereFacts()...)
	facts = append(facts, pathFacts()...)
	facts = append(facts, deviceFacts("device", "", func(f *Facts) []*Device {
		if on := f.OnPath(); on != nil {
			return []*Device{on}
		}
		return nil
	})...)
	return append(facts, deviceFacts("enslaved", "enslaved device's ", enslavedOnPath)...)
}

// single is a fact with one value.
func single(fact, name string, matters bool, value func(f *Facts) string) compared {
	return compared{fact: fact, name: name, matters: matters, values: func(f *Facts) map[string]string {
		return map[string]string{"": value(f)}
	}}
}

func whereFacts() []compared {
	where := func(key, name string, matters bool, value func(w *Where) string) compared {
		return single("where."+key, name, matters, func(f *Facts) string {
			if f.Where == nil {
				return ""
			}
			return value(f.Where)
		})
	}
	provider := func(key, name string, value func(p *Provider) string) compared {
		return single("provider."+key, name, false, func(f *Facts) string {
			if f.Provider == nil {
				return ""
			}
			return value(f.Provider)
		})
	}
	return []compared{
		where("cloud", "cloud", true, func(w *Where) string { return w.Cloud }),
		where("instance_type", "instance type", true, func(w *Where) string { return w.InstanceType }),
		where("region", "region", true, func(w *Where) string { return w.Region }),
		where("zone", "zone", true, func(w *Where) string { return w.Zone }),
		where("zone_id", "zone id", true, func(w *Where) string { return w.ZoneID }),
		where("fault_domain", "fault domain", false, func(w *Where) string { return w.FaultDomain }),
		where("placement_group", "placement group", false, func(w *Where) string {
			if w.PlacementGroup == nil {
				return ""
			}
			return cmp.Or(*w.PlacementGroup, "none")
		}),
		where("partition", "partition", false, func(w *Where) string { return w.Partition }),
		provider("strategy", "placement strategy", func(p *Provider) string { return p.Strategy }),
		provider("colocation", "colocation status", func(p *Provider) string { return p.Colocation }),
		provider("group_colocation", "colocation status of the group", func(p *Provider) string {
			return p.GroupColocation
		}),
		provider("accelerated_networking", "accelerated networking as configured", func(p *Provider) string {
			if p.Accelerated == nil {
				return ""
			}
			return strconv.FormatBool(*p.Accelerated)
		}),
	}
}

func pathFacts() []compared {
	path := func(key, name string, matters bool, value func(p *Path) string) compared {
		return single("path."+key, name, matters, func(f *Facts) string {
			if f.Path == nil {
				return ""
			}
			return value(f.Path)
		})
	}
	return []compared{
		path("mtu", "path MTU", true, func(p *Path) string { return numberText(p.MTU) }),
		path("gateway", "next hop", false, func(p *Path) string {
			if p.Gateway.IsValid() {
				return "a router"
			}
			return "the other side"
		}),
		path("local", "to itself", true, func(p *Path) string { return yesNoText(p.Local) }),
	}
}

// deviceFacts are the facts of a device of the path. Values of several devices are joined.
func deviceFacts(fact, name string, of func(f *Facts) []*Device) []compared {
	device := func(key, what string, matters bool, value func(f *Facts, d *Device) string) compared {
		return single(fact+"."+key, name+what, matters, func(f *Facts) string {
			var all []string
			for _, d := range of(f) {
				if v := value(f, d); v != "" {
					all = append(all, v)
				}
			}
			slices.Sort(all)
			return joined(slices.Compact(all))
		})
	}
	numbers := func(key, what string, value func(d *Device) map[string]uint32) compared {
		values := func(f *Facts) map[string]string {
			all := map[string]string{}
			for _, d := range of(f) {
				for k, v := range value(d) {
					if !strings.HasPrefix(k, "max-") { // what the hardware could do
						all[k] = strconv.FormatUint(uint64(v), 10)
					}
				}
			}
			return all
		}
		return compared{fact: fact + "." + key, name: name + what, absent: "0", values: values}
	}
	driver := device("driver", "driver", true, func(_ *Facts, d *Device) string { return d.Driver })
	if fact == "enslaved" {
		driver.values = func(f *Facts) map[string]string { return map[string]string{"": enslavedDrivers(f)} }
	}
	return []compared{
		driver,
		device("mtu", "MTU", true, func(_ *Facts, d *Device) string { return numberText(d.MTU) }),
		device("kind", "kind of device", false, func(_ *Facts, d *Device) string { return d.Kind }),
		device("version", "driver version", false, func(f *Facts, d *Device) string {
			if d.Version == f.Kernel {
				return "" // a driver of the kernel has no version of its own
			}
			return d.Version
		}),
		device("firmware", "firmware", false, func(_ *Facts, d *Device) string { return d.Firmware }),
		device("numa", "NUMA node", false, func(_ *Facts, d *Device) string {
			if d.NUMA < 0 {
				return "" // none, or not known
			}
			return strconv.Itoa(d.NUMA)
		}),
		device("tx_queues", "transmit queues", false, func(_ *Facts, d *Device) string {
			return numberText(d.TxQueues)
		}),
		device("rx_queues", "receive queues", false, func(_ *Facts, d *Device) string {
			return numberText(d.RxQueues)
		}),
		device("spread", "queues of receive-side scaling", false, func(_ *Facts, d *Device) string {
			return numberText(d.Spread)
		}),
		numbers("channels", "queues", func(d *Device) map[string]uint32 { return d.Channels }),
		numbers("rings", "ring", func(d *Device) map[string]uint32 { return d.Rings }),
		numbers("coalescing", "coalescing", func(d *Device) map[string]uint32 { return d.Coalescing }),
		{fact: fact + ".offloads", name: name + "offload", absent: "off", values: func(f *Facts) map[string]string {
			all := map[string]string{}
			for _, d := range of(f) {
				for _, feature := range d.Offloads {
					all[feature] = "on"
				}
			}
			return all
		}},
	}
}

// enslavedOnPath lists the devices enslaved to the device of the path. A bridge is left out, because its devices belong
// to many paths.
func enslavedOnPath(f *Facts) []*Device {
	on := f.OnPath()
	if on == nil || on.Kind == "bridge" || on.Index == 0 {
		return nil
	}
	return f.EnslavedTo(on)
}

// enslavedDrivers is "none" if the device of the path is known and has no device enslaved to it: a virtual function
// that is missing is a difference.
func enslavedDrivers(f *Facts) string {
	if f.OnPath() == nil {
		return ""
	}
	var all []string
	for _, d := range enslavedOnPath(f) {
		all = append(all, cmp.Or(d.Driver, "unknown"))
	}
	slices.Sort(all)
	return cmp.Or(joined(slices.Compact(all)), "none")
}

// system is the distribution, or the name of the operating system's release.
func (f *Facts) system() string {
	return cmp.Or(f.Release["PRETTY_NAME"], strings.TrimSpace(f.Release["ID"]+" "+f.Release["VERSION_ID"]))
}

// virtual says whether the CPUs report a hypervisor. Only x86 reports it.
func virtual(f *Facts) string {
	if !f.Processor.Hypervisor && (f.OS != "linux" || f.Arch != "amd64") {
		return ""
	}
	return yesNoText(f.Processor.Hypervisor)
}

// limit is a limit of a control group; "none" if there is none. Only Linux has control groups.
func limit(value func(c Cgroup) string) func(f *Facts) string {
	return func(f *Facts) string {
		if f.OS != "linux" {
			return ""
		}
		return cmp.Or(value(f.Cgroup), "none")
	}
}

// cpusIn is the number of CPUs in a list such as "0-3,8". Which CPUs they are does not count: each host has its own.
func cpusIn(cpuset string) int {
	n := 0
	for part := range strings.SplitSeq(cpuset, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil || last < first {
				continue
			}
		}
		n += last - first + 1
	}
	return n
}

// numberText is empty for 0.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// sizeText is empty for 0.
func sizeText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
}

func joined(items []string) string { return strings.Join(items, ", ") }

func yesNoText(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
