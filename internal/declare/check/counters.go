package check

import (
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Statistics are what the kernel counted for a device, since the device was made.
type Statistics struct {
	RxPackets uint64 `json:"rx_packets"`
	TxPackets uint64 `json:"tx_packets"`
	RxBytes   uint64 `json:"rx_bytes"`
	TxBytes   uint64 `json:"tx_bytes"`
	RxDropped uint64 `json:"rx_dropped,omitempty"`
	TxDropped uint64 `json:"tx_dropped,omitempty"`
	RxErrors  uint64 `json:"rx_errors,omitempty"`
	TxErrors  uint64 `json:"tx_errors,omitempty"`
	RxMissed  uint64 `json:"rx_missed,omitempty"`
	// Known is false if the kernel does not count.
	Known bool `json:"known"`
}

// Counters are what a host counted up to a moment, or between two moments (see Since).
type Counters struct {
	// At is when the reading began. Between two moments, it is the end of the first reading, and Until the beginning of
	// the second one: nothing is read in between. Both are by the clock of the host.
	At    time.Time `json:"at"`
	Until time.Time `json:"until,omitzero"`
	// BootID and the devices' indexes tell whether two moments can be compared.
	BootID  string           `json:"boot_id,omitempty"`
	Devices []DeviceCounters `json:"devices,omitempty"`
	// Protocols are counters of /proc/net/snmp and /proc/net/netstat, such as Tcp.RetransSegs.
	Protocols map[string]uint64 `json:"protocols,omitempty"`
	// Softirq are the software interrupts of the network by kind (NET_RX, NET_TX), SoftirqTicks the time of all kinds,
	// in hundredths of a second, and Squeezed how often a CPU had no time left for packets.
	Softirq      map[string]uint64 `json:"softirq,omitempty"`
	SoftirqTicks uint64            `json:"softirq_ticks,omitempty"`
	Squeezed     uint64            `json:"squeezed,omitempty"`
	// Conntrack are the failures of the connection table: drop, early_drop, insert_failed.
	Conntrack map[string]uint64 `json:"conntrack,omitempty"`
	// Switched names the devices whose virtual function came, went or changed between the moments.
	Switched []string `json:"switched,omitempty"`
	// Seconds is how long it took to read the counters; between two moments, how long both readings took together.
	Seconds float64 `json:"seconds"`
}

// DeviceCounters are the counters of one device of the path.
type DeviceCounters struct {
	Name   string `json:"name"`
	Index  int    `json:"index"`
	Master int    `json:"master,omitempty"`
	Statistics
	// Own are the driver's own counters that this package uses.
	Own map[string]uint64 `json:"own,omitempty"`
}

// ReadCounters reads the counters of this machine's devices on the path to an address, and the counters of its kernel.
// With the zero value it reads all devices, at most maxDevices. Devices, routes and protocol counters belong to the
// calling thread's network namespace. It starts no process, and sends nothing.
func ReadCounters(to netip.Addr) Counters { return ThisMachine().ReadCounters(to) }

// ReadCounters is as the function of this name, for another source than this machine.
func (s Source) ReadCounters(to netip.Addr) Counters {
	c := Counters{At: time.Now()}
	if s.Network != nil {
		s.deviceCounters(&c, to)
	}
	if s.Files != nil {
		c.BootID = line(s.Files, bootIDFile)
		c.Protocols = protocols(s.Files)
		c.Softirq = softirqs(s.Files)
		c.SoftirqTicks = softirqTicks(s.Files)
		c.Squeezed = squeezed(s.Files)
		c.Conntrack = conntrack(s.Files)
	}
	c.Seconds = time.Since(c.At).Seconds()
	return c
}

func (s Source) deviceCounters(c *Counters, to netip.Addr) {
	links, err := s.Network.Links()
	if err != nil {
		return
	}
	var path *Path
	if to.IsValid() {
		route, _, err := s.Network.Route(to)
		if err != nil {
			return
		}
		path = &Path{Route: route}
	}
	on := pathIndexes(links, path)
	for _, l := range links {
		if path != nil && !on[l.Index] || len(c.Devices) == maxDevices {
			continue
		}
		d := DeviceCounters{Name: l.Name, Index: l.Index, Master: l.Master, Statistics: l.Statistics}
		if own, err := s.Network.Counters(l.Name); err == nil {
			d.Own = selected(own)
		}
		c.Devices = append(c.Devices, d)
	}
}

// ownCounters says whether counters of a driver are used. Those of mlx5 are not used: the kernel counts the same for
// the device, and mlx5 has over a thousand, which it must read from the hardware.
func ownCounters(driver string) bool {
	return slices.Contains([]string{"hv_netvsc", "ena", "gve", "virtio_net"}, driver)
}

// selected keeps the counters that say how packets went, or that some were lost. Counters of single queues are left
// out.
func selected(own map[string]uint64) map[string]uint64 {
	kept := map[string]uint64{}
	for name, value := range own {
		switch {
		case strings.HasPrefix(name, "vf_"), strings.HasPrefix(name, "ena_srd_"),
			strings.HasSuffix(name, LimiterSuffix), strings.HasSuffix(name, "_allowance_available"),
			name == "rx_dropped_pkt", name == "tx_timeouts", name == "tx_timeout", name == "rx_drops",
			name == "tx_drops", name == "interface_down_cnt", name == "reset_cnt":
			kept[name] = value
		}
	}
	return kept
}

// protocols reads the counters of TCP, UDP and IP that tell of losses, and how many segments TCP sent.
func protocols(root fs.FS) map[string]uint64 {
	wanted := []string{
		"Tcp.RetransSegs", "Tcp.OutSegs", "Tcp.InSegs", "Tcp.InErrs", "Udp.InErrors", "Udp.RcvbufErrors",
		"Udp.SndbufErrors", "Udp.NoPorts", "Ip.InDiscards", "Ip.OutDiscards", "Ip.FragCreates", "Ip.ReasmFails",
		"TcpExt.TCPTimeouts", "TcpExt.TCPLostRetransmit", "TcpExt.TCPFastRetrans", "TcpExt.TCPSlowStartRetrans",
		"TcpExt.ListenDrops", "TcpExt.ListenOverflows", "TcpExt.TCPBacklogDrop", "TcpExt.TCPRcvQDrop",
		"TcpExt.PruneCalled",
	}
	all := map[string]uint64{}
	for _, file := range []string{"proc/net/snmp", "proc/net/netstat"} {
		lines := strings.Split(line(root, file), "\n")
		// Each group has a line of names and a line of values.
		for i := 0; i+1 < len(lines); i += 2 {
			names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
			if len(names) == 0 || len(names) != len(values) || names[0] != values[0] {
				continue
			}
			group := strings.TrimSuffix(names[0], ":")
			for j := 1; j < len(names); j++ {
				name := group + "." + names[j]
				value, err := strconv.ParseUint(values[j], 10, 64)
				if err == nil && slices.Contains(wanted, name) {
					all[name] = value
				}
			}
		}
	}
	return all
}

// softirqs sums the network's software interrupts over all CPUs.
func softirqs(root fs.FS) map[string]uint64 {
	all := map[string]uint64{}
	for text := range strings.Lines(line(root, "proc/softirqs")) {
		fields := strings.Fields(text)
		if len(fields) == 0 || fields[0] != "NET_RX:" && fields[0] != "NET_TX:" {
			continue
		}
		for _, value := range fields[1:] {
			n, _ := strconv.ParseUint(value, 10, 64) // 0 for what is no number
			all[strings.TrimSuffix(fields[0], ":")] += n
		}
	}
	return all
}

// softirqTicks is the time of all CPUs in software interrupts (proc(5), /proc/stat), in hundredths of a second.
func softirqTicks(root fs.FS) uint64 {
	fields := strings.Fields(strings.SplitN(line(root, "proc/stat"), "\n", 2)[0])
	if len(fields) < 8 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[7], 10, 64)
	return n
}

// squeezed sums the third column of /proc/net/softnet_stat, which is hexadecimal.
func squeezed(root fs.FS) uint64 {
	var sum uint64
	for text := range strings.Lines(line(root, "proc/net/softnet_stat")) {
		if fields := strings.Fields(text); len(fields) > 2 {
			n, _ := strconv.ParseUint(fields[2], 16, 64)
			sum += n
		}
	}
	return sum
}

// conntrack sums the failures of the connection table over all CPUs. The values are hexadecimal.
func conntrack(root fs.FS) map[string]uint64 {
	text := line(root, "proc/net/stat/nf_conntrack")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	names := strings.Fields(lines[0])
	all := map[string]uint64{}
	for _, l := range lines[1:] {
		for i, value := range strings.Fields(l) {
			if i < len(names) && slices.Contains([]string{"drop", "early_drop", "insert_failed"}, names[i]) {
				n, _ := strconv.ParseUint(value, 16, 64)
				all[names[i]] += n
			}
		}
	}
	return all
}

// Since is the difference from an earlier moment. It leaves out devices that are not in both, and counters that became
// smaller, because they were reset. It is nil if the machine was started in between.
func (c *Counters) Since(before *Counters) *Counters {
	if c == nil || before == nil || c.BootID != before.BootID {
		return nil
	}
	d := &Counters{
		At: before.At.Add(time.Duration(before.Seconds * float64(time.Second))), Until: c.At,
		BootID: c.BootID, Seconds: before.Seconds + c.Seconds,
		Protocols: grown(c.Protocols, before.Protocols), Softirq: grown(c.Softirq, before.Softirq),
		Conntrack: grown(c.Conntrack, before.Conntrack),
	}
	d.SoftirqTicks, _ = less(c.SoftirqTicks, before.SoftirqTicks)
	d.Squeezed, _ = less(c.Squeezed, before.Squeezed)
	for _, now := range c.Devices {
		at := slices.IndexFunc(before.Devices, func(b DeviceCounters) bool {
			return b.Name == now.Name && b.Index == now.Index
		})
		if at < 0 {
			continue
		}
		then := before.Devices[at]
		one := DeviceCounters{Name: now.Name, Index: now.Index, Master: now.Master, Own: grown(now.Own, then.Own)}
		// A mode is a state, not a counter.
		if mode, ok := now.Own["ena_srd_mode"]; ok && then.Own["ena_srd_mode"] == mode {
			one.Own["ena_srd_mode"] = mode
		} else {
			delete(one.Own, "ena_srd_mode")
		}
		delete(one.Own, "conntrack_allowance_available")
		delete(one.Own, "ena_srd_resource_utilization")
		one.Statistics = now.since(then.Statistics)
		d.Devices = append(d.Devices, one)
	}
	d.Switched = switched(before.Devices, c.Devices)
	return d
}

// switched names the masters whose enslaved devices are not the same at both moments.
func switched(before, after []DeviceCounters) []string {
	enslaved := func(all []DeviceCounters, master int) (indexes []int) {
		for _, d := range all {
			if d.Master == master {
				indexes = append(indexes, d.Index)
			}
		}
		slices.Sort(indexes)
		return indexes
	}
	names := map[string]bool{}
	for _, all := range [][]DeviceCounters{before, after} {
		for _, d := range all {
			if !slices.Equal(enslaved(before, d.Index), enslaved(after, d.Index)) {
				names[d.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// grown are the differences of the counters that are in both, without those that became smaller.
func grown(after, before map[string]uint64) map[string]uint64 {
	all := map[string]uint64{}
	for name, now := range after {
		if then, ok := before[name]; ok {
			if d, ok := less(now, then); ok {
				all[name] = d
			}
		}
	}
	return all
}

func less(now, then uint64) (uint64, bool) {
	if now < then {
		return 0, false
	}
	return now - then, true
}

// since is not Known if a counter became smaller.
func (s Statistics) since(then Statistics) Statistics {
	d := Statistics{Known: s.Known && then.Known}
	one := func(to *uint64, now, then uint64) {
		var ok bool
		if *to, ok = less(now, then); !ok {
			d.Known = false
		}
	}
	one(&d.RxPackets, s.RxPackets, then.RxPackets)
	one(&d.TxPackets, s.TxPackets, then.TxPackets)
	one(&d.RxBytes, s.RxBytes, then.RxBytes)
	one(&d.TxBytes, s.TxBytes, then.TxBytes)
	one(&d.RxDropped, s.RxDropped, then.RxDropped)
	one(&d.TxDropped, s.TxDropped, then.TxDropped)
	one(&d.RxErrors, s.RxErrors, then.RxErrors)
	one(&d.TxErrors, s.TxErrors, then.TxErrors)
	one(&d.RxMissed, s.RxMissed, then.RxMissed)
	return d
}

// Device are the counters of a device; nil if there are none.
func (c *Counters) Device(name string) *DeviceCounters {
	if c == nil {
		return nil
	}
	for i := range c.Devices {
		if c.Devices[i].Name == name {
			return &c.Devices[i]
		}
	}
	return nil
}

// LimiterSuffix ends the names of ENA's counters of what a limiter queued or dropped.
const LimiterSuffix = "_allowance_exceeded"

// Limits says which of the provider's limiters acted in the time of the counters: "eth0: bw_out_allowance_exceeded grew
// by 12". The figures of that time show the limiter (ENA's counters of queued or dropped packets; Amazon EC2 User
// Guide, "Monitor network performance for ENA settings").
func (c *Counters) Limits() []string {
	if c == nil {
		return nil
	}
	var all []string
	for _, d := range c.Devices {
		for _, name := range slices.Sorted(maps.Keys(d.Own)) {
			if strings.HasSuffix(name, LimiterSuffix) && d.Own[name] > 0 {
				all = append(all, d.Name+": "+name+" grew by "+strconv.FormatUint(d.Own[name], 10))
			}
		}
	}
	return all
}
