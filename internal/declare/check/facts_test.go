package check

import (
	"net/netip"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func server() netip.Addr { return netip.MustParseAddr("10.0.0.5") }

func TestRecordedFacts(t *testing.T) {
	s, _ := readRecorded(t, "azure-mlx5")
	f := s.Read(Options{To: server()})
	if f.Kernel != "6.8.0-1015-azure" || f.Release["ID"] != "ubuntu" || f.Memory != 16393240<<10 ||
		f.Model != "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz" || len(f.CPUs) != 2 || f.CPUs[1].Node != 0 ||
		f.CPUs[1].Core != 0 {
		t.Errorf("machine: %+v", f.Machine)
	}
	if !f.Processor.Hypervisor || f.Processor.SMT != "on" || f.Processor.Nodes != 1 || f.Load.Average != 0.08 {
		t.Errorf("processor: %+v, load %+v", f.Processor, f.Load)
	}
	if f.Settings["ipv4/tcp_rmem"] != "4096 131072 6291456" || f.Settings["ipv4/tcp_congestion_control"] != "cubic" {
		t.Errorf("settings: %v", f.Settings)
	}
	if f.Path == nil || f.Path.Device != "eth0" || f.Path.MTU != 1500 {
		t.Fatalf("path: %+v", f.Path)
	}
	on := f.OnPath()
	if on == nil || on.Driver != "hv_netvsc" || on.NUMA != -1 {
		t.Fatalf("device: %+v", on)
	}
	below := f.EnslavedTo(on)
	if len(below) != 1 || below[0].Driver != "mlx5_core" || below[0].NUMA != 0 {
		t.Errorf("enslaved: %+v", below)
	}
	if len(f.Missing) > 0 {
		t.Error(f.Missing)
	}
	if f := s.Read(Options{To: netip.MustParseAddr("192.0.2.1")}); f.Path != nil || len(f.Missing) != 1 {
		t.Errorf("without a route: %+v, %v", f.Path, f.Missing)
	}
}

func TestCloud(t *testing.T) {
	for name, want := range map[string]string{
		"azure-mlx5": CloudAzure, "azure-mana": CloudAzure, "azure-no-vf": CloudAzure, "aws-ena": CloudAWS,
		"aws-ena-express": CloudAWS, "gcp-gvnic": CloudGCP,
	} {
		s, _ := readRecorded(t, name)
		if got := s.Read(Options{}).Firmware.Cloud(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestForeignSysfs: where /sys shows another namespace, its device of the same name says nothing.
func TestForeignSysfs(t *testing.T) {
	s, _ := readRecorded(t, "azure-mlx5")
	files, ok := s.Files.(fstest.MapFS)
	if !ok {
		t.Fatal("no map of files")
	}
	files["sys/class/net/enP43690s1/ifindex"] = &fstest.MapFile{Data: []byte("7\n")}
	f := s.Read(Options{})
	if d := f.Device("enP43690s1"); d == nil || d.NUMA != -1 {
		t.Errorf("got %+v", d)
	}
}

func TestCgroup(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  Cgroup
	}{
		"none": {fstest.MapFS{}, Cgroup{}},
		"the tightest of all groups above": {fstest.MapFS{
			"proc/self/cgroup":                             file("0::/kubepods.slice/pod1/c1"),
			"sys/fs/cgroup/kubepods.slice/cpu.max":         file("400000 100000"),
			"sys/fs/cgroup/kubepods.slice/pod1/cpu.max":    file("150000 100000"),
			"sys/fs/cgroup/kubepods.slice/pod1/c1/cpu.max": file("max 100000"),
			"sys/fs/cgroup/kubepods.slice/pod1/memory.max": file("1073741824"),
			"sys/fs/cgroup/kubepods.slice/memory.max":      file("max"),
			"sys/fs/cgroup/cpuset.cpus.effective":          file("0-3"),
		}, Cgroup{CPUs: 1.5, Memory: 1 << 30, Cpuset: "0-3"}},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup":                    file("4:cpu,cpuacct:/\n3:memory:/"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  file("50000"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": file("100000"),
		}, Cgroup{CPUs: 0.5}},
		"outside of the mount": {fstest.MapFS{"proc/self/cgroup": file("0::/../../other")}, Cgroup{}},
	} {
		if got := cgroup(test.files); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// TestHostileFiles: reading ends, whatever the files contain.
func TestHostileFiles(t *testing.T) {
	s, r := readRecorded(t, "aws-ena-express")
	files, ok := s.Files.(fstest.MapFS)
	if !ok {
		t.Fatal("no map of files")
	}
	for _, text := range []string{
		"", "\n\n", ":", "a b c d e f g h i j\na", "-1", "99999999999999999999999", "\x00\xff",
	} {
		for name := range files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		for _, name := range []string{
			"proc/net/snmp", "proc/net/netstat", "proc/softirqs", "proc/stat", "proc/net/softnet_stat",
			"proc/net/stat/nf_conntrack", "proc/self/cgroup", "proc/pressure/cpu", "sys/fs/cgroup/cpu.max",
		} {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		s.Read(Options{To: server()})
		s.ReadCounters(server())
	}
	var none Source
	if f := none.Read(Options{To: server()}); f.Path != nil {
		t.Errorf("got %+v", f)
	}
	r.Routes = nil
	if c := s.ReadCounters(server()); len(c.Devices) != 0 {
		t.Errorf("without a route: %+v", c.Devices)
	}
}

// TestManyDevices: the devices of the path are read however many there are.
func TestManyDevices(t *testing.T) {
	s, r := readRecorded(t, "azure-mlx5")
	on := slices.Clone(r.LinkList)
	r.LinkList = nil
	for i := range 300 {
		one := on[0]
		one.Link = Link{Name: "veth" + string(rune('a'+i%26)), Index: 1000 + i}
		r.LinkList = append(r.LinkList, one)
	}
	r.LinkList = append(r.LinkList, on...)
	f := s.Read(Options{To: server()})
	if len(f.Devices) != maxDevices || f.OnPath() == nil || len(f.EnslavedTo(f.OnPath())) != 1 || len(f.Missing) != 1 {
		t.Errorf("%d devices, on the path %+v, missing %v", len(f.Devices), f.OnPath(), f.Missing)
	}
	if c := s.ReadCounters(server()); len(c.Devices) != 2 {
		t.Errorf("counters of %d devices", len(c.Devices))
	}
}

func TestPathDevices(t *testing.T) {
	links := []Link{
		{Name: "lo", Index: 1}, {Name: "eth0", Index: 2}, {Name: "vf0", Index: 3, Master: 2},
		{Name: "vxlan0", Index: 4, Kind: "vxlan", Lower: 2, Master: 5}, {Name: "br0", Index: 5, Kind: "bridge"},
		{Name: "veth1", Index: 6, Kind: "veth", Master: 5}, {Name: "other", Index: 7},
	}
	for device, want := range map[string][]int{
		"eth0": {2, 3}, "vxlan0": {2, 3, 4, 5}, "br0": {5}, "veth1": {5, 6}, "other": {7}, "gone": nil,
	} {
		on := pathIndexes(links, &Path{Route: Route{Device: device}})
		var got []int
		for index := range on {
			got = append(got, index)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", device, diff)
		}
	}
}

func TestCounters(t *testing.T) {
	files := fstest.MapFS{}
	set := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text)} }
	set("proc/sys/kernel/random/boot_id", "one")
	set("proc/net/snmp", "Tcp: OutSegs RetransSegs Other\nTcp: 100 5 9\nUdp: InErrors\nUdp: 3\n")
	set("proc/net/netstat", "TcpExt: TCPTimeouts\nTcpExt: 1\n")
	set("proc/softirqs", "   CPU0 CPU1\nNET_TX: 1 2\nNET_RX: 10 20\n")
	set("proc/stat", "cpu  1 2 3 4 5 6 70 8\n")
	set("proc/net/softnet_stat", "00000010 00000000 0000000a\n00000010 00000000 00000001\n")
	set("proc/net/stat/nf_conntrack", "entries drop early_drop insert_failed\n00000001 00000002 00000000 0000000a\n"+
		"00000001 00000001 00000000 00000001\n")
	before := Source{Files: files}.ReadCounters(netip.Addr{})
	set("proc/net/snmp", "Tcp: OutSegs RetransSegs Other\nTcp: 300 12 9\nUdp: InErrors\nUdp: 2\n")
	set("proc/softirqs", "   CPU0 CPU1\nNET_TX: 1 2\nNET_RX: 15 25\n")
	set("proc/stat", "cpu  1 2 3 4 5 6 75 8\n")
	after := Source{Files: files}.ReadCounters(netip.Addr{})
	d := after.Since(&before)
	want := map[string]uint64{"Tcp.OutSegs": 200, "Tcp.RetransSegs": 7, "TcpExt.TCPTimeouts": 0} // UDP's was reset
	if diff := cmp.Diff(want, d.Protocols); diff != "" {
		t.Error(diff)
	}
	if d.Softirq["NET_RX"] != 10 || d.SoftirqTicks != 5 || before.Squeezed != 11 || d.Squeezed != 0 {
		t.Errorf("softirq %v, ticks %d, squeezed %d and %d", d.Softirq, d.SoftirqTicks, before.Squeezed, d.Squeezed)
	}
	failures := map[string]uint64{"drop": 3, "early_drop": 0, "insert_failed": 11}
	if diff := cmp.Diff(failures, before.Conntrack); diff != "" {
		t.Error(diff)
	}
	set("proc/sys/kernel/random/boot_id", "two")
	again := Source{Files: files}.ReadCounters(netip.Addr{})
	if again.Since(&before) != nil {
		t.Error("counters of two boots were compared")
	}
}

func TestDeviceCounters(t *testing.T) {
	s, r := readRecorded(t, "aws-ena-express")
	before := s.ReadCounters(server())
	if _, kept := before.Device("ens5").Own["queue_0_tx_cnt"]; kept {
		t.Error("a counter of one queue was kept")
	}
	own := r.Own["ens5"]
	own["ena_srd_tx_pkts"] += 70
	own["bw_out_allowance_exceeded"] += 12
	r.LinkList[1].Statistics.TxPackets += 71
	after := s.ReadCounters(server())
	d := after.Since(&before)
	got := d.Device("ens5")
	if got == nil || got.Own["ena_srd_tx_pkts"] != 70 || got.Own["ena_srd_mode"] != 1 || got.TxPackets != 71 ||
		!got.Known {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff([]string{"ens5: bw_out_allowance_exceeded grew by 12"}, d.Limits()); diff != "" {
		t.Error(diff)
	}
	own["ena_srd_mode"] = 0
	r.LinkList[1].Statistics.TxPackets = 1
	changed := s.ReadCounters(server())
	got = changed.Since(&after).Device("ens5")
	if _, ok := got.Own["ena_srd_mode"]; ok || got.Known {
		t.Errorf("a mode that changed, or statistics that were reset, count as known: %+v", got)
	}
}

// TestSwitched: a virtual function that comes or goes between two moments is noticed.
func TestSwitched(t *testing.T) {
	s, r := readRecorded(t, "azure-mlx5")
	before := s.ReadCounters(server())
	r.LinkList = r.LinkList[:2]
	after := s.ReadCounters(server())
	if d := after.Since(&before); !slices.Equal(d.Switched, []string{"eth0"}) {
		t.Errorf("switched: %v", d.Switched)
	}
	if d := before.Since(&after); !slices.Equal(d.Switched, []string{"eth0"}) {
		t.Errorf("switched: %v", d.Switched)
	}
}
