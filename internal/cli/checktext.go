package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/prose"
	"nearfar/internal/declare/check"
	"nearfar/internal/measure/deploy"
)

// writeHostFacts writes the facts of a host in lines "name  value". Facts that are not known have no line.
func writeHostFacts(b *strings.Builder, h deploy.HostFacts) {
	sides := textIf(len(h.Sides) > 0, " ("+clean.Line(strings.Join(h.Sides, ", "))+")")
	b.WriteString(clean.Line(h.Host) + sides + "\n")
	line := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		if len(parts) > 0 {
			fmt.Fprintf(b, "  %-10s %s\n", name, clean.Line(strings.Join(parts, ", ")))
		}
	}
	f := h.Facts
	if f == nil {
		line("problem", h.Problem)
		return
	}
	line("system", f.Release["PRETTY_NAME"], named("kernel", f.Kernel), f.OS+"/"+f.Arch)
	p := f.Processor
	line("processor", f.Model, plural(len(f.CPUs), "CPU"), named("SMT", p.SMT), plural(p.Nodes, "NUMA node"))
	line("power", named("governor", strings.Join(p.Governors, " ")), named("C-states", strings.Join(p.IdleStates, " ")))
	guest := textIf(p.Hypervisor, "virtual machine")
	line("machine", strings.TrimSpace(f.Firmware.Vendor+" "+f.Firmware.Product), guest, named("memory", size(f.Memory)))
	line("clock", f.ClockSource)
	writeWhere(line, f.Where)
	writeProvider(line, f.Provider)
	writePath(line, f)
	line("tcp", named("congestion control", f.Settings["ipv4/tcp_congestion_control"]),
		named("qdisc", f.Settings["core/default_qdisc"]))
	line("limits", quota(f.Cgroup), named("memory", size(f.Cgroup.Memory)), named("cpuset", f.Cgroup.Cpuset))
	if f.Conntrack != nil {
		line("conntrack", fmt.Sprintf("%d of %d connections", f.Conntrack.Count, f.Conntrack.Max))
	}
	line("load", strconv.FormatFloat(f.Load.Average, 'g', 3, 64), pressure(f.Load.Pressure))
	for _, missing := range f.Missing {
		line("missing", missing)
	}
}

func writeWhere(line func(string, ...string), w *check.Where) {
	if w == nil {
		return
	}
	zone := w.Zone + textIf(w.ZoneID != "", " ("+w.ZoneID+")")
	group := ""
	if w.PlacementGroup != nil {
		group = *w.PlacementGroup
	}
	line("where", w.Cloud, w.InstanceType, w.Region, named("zone", zone), named("fault domain", w.FaultDomain),
		named("placement group", group), named("host", w.Host))
	line("topology", w.Topology.Parts()...)
	line("unknown", w.Problem)
}

// writeProvider writes what the provider was asked and what it said.
func writeProvider(line func(string, ...string), p *check.Provider) {
	if p == nil {
		return
	}
	for _, command := range p.Commands {
		line("asked", command)
	}
	group := ""
	if p.Group != nil {
		group = "group " + cmp.Or(*p.Group, "none")
	}
	line("placed", group, named("strategy", p.Strategy), named("state", p.State),
		named("colocation of the group", p.GroupColocation), named("of the machine", p.Colocation),
		named("network nodes", strings.Join(p.NetworkNodes, " ")), named("physical host", p.PhysicalHost))
	line("topology", p.Topology.Parts()...)
	if state := p.AcceleratedState(); state != "" {
		line("configured", "accelerated networking "+state, p.Configured)
	}
	line("unknown", p.Problem)
}

// writePath writes the path, its devices, and the devices enslaved to these. Without a path it writes all devices that
// have hardware or a driver.
func writePath(line func(string, ...string), f *check.Facts) {
	if p := f.Path; p != nil {
		hop := textIf(p.Gateway.IsValid(), "next hop "+p.Gateway.String())
		mtu := textIf(p.MTU > 0, fmt.Sprintf("MTU %d", p.MTU))
		line("path", "to "+p.To.String(), "by "+p.Device, hop, mtu)
	}
	for i := range f.Devices {
		d := &f.Devices[i]
		if on := f.OnPath(); on != nil && d != on && d.Master != on.Index {
			continue
		}
		if d.Driver == "" || d.State == "down" {
			continue
		}
		below := ""
		for j := range f.Devices {
			if d.Master != 0 && f.Devices[j].Index == d.Master {
				below = "enslaved to " + f.Devices[j].Name
			}
		}
		numa := textIf(d.NUMA >= 0, fmt.Sprintf("NUMA node %d", d.NUMA))
		line("device", d.Name+": "+d.Driver, below, named("firmware", d.Firmware), fmt.Sprintf("MTU %d", d.MTU), numa,
			counts("queues", d.Channels), counts("rings", d.Rings), counts("coalescing", d.Coalescing))
	}
}

// named is empty for an empty value.
func named(name, value string) string { return textIf(value != "", name+" "+value) }

// plural is empty for 0.
func plural(n int, noun string) string { return textIf(n != 0, prose.Plural(n, noun)) }

// size is a number of bytes as text; empty for 0.
func size(bytes int64) string {
	return textIf(bytes != 0, fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)))
}

func quota(c check.Cgroup) string {
	return textIf(c.CPUs != 0, strconv.FormatFloat(c.CPUs, 'g', 4, 64)+" CPUs")
}

func pressure(share float64) string {
	return textIf(share != 0, fmt.Sprintf("processes waited for a CPU in %.0f %% of the last ten seconds", 100*share))
}

// counts is empty for no values.
func counts(name string, values map[string]uint32) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !strings.HasPrefix(key, "max-") {
			parts = append(parts, fmt.Sprintf("%s %d", key, values[key]))
		}
	}
	return named(name, strings.Join(parts, " "))
}
