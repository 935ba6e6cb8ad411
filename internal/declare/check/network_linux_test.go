package check

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
)

// TestKernel reads a real path: its device, its MTU, and counters that include the packets that the test sent.
func TestKernel(t *testing.T) {
	if !inside(t) {
		return
	}
	device := hole(t)
	if err := netlink.LinkSetMTU(device, 1400); err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddr("169.254.169.254")
	f := Read(t.Context(), Options{To: to})
	if f.Path == nil || f.Path.Device != "cloud0" || f.Path.MTU != 1400 || f.Path.Local ||
		f.Path.Source != netip.MustParseAddr("169.254.1.1") {
		t.Fatalf("path: %+v, missing %v", f.Path, f.Missing)
	}
	on := f.OnPath()
	if on == nil || on.Kind != "veth" || on.Driver != "veth" || on.MTU != 1400 || len(on.Offloads) == 0 {
		t.Errorf("device: %+v", on)
	}
	if f.Kernel == "" || f.BootID == "" || f.Model == "" || len(f.CPUs) == 0 ||
		len(strings.Fields(f.Settings["ipv4/tcp_rmem"])) != 3 {
		t.Errorf("facts: %+v", f)
	}
	local := Read(t.Context(), Options{To: netip.MustParseAddr("127.0.0.1")})
	if local.Path == nil || !local.Path.Local {
		t.Errorf("path to this host: %+v", local.Path)
	}
	before := ReadCounters(to)
	c, err := net.Dial("udp4", "169.254.169.254:9")
	if err != nil {
		t.Fatal(err)
	}
	const packets, size = 100, 1000
	for range packets {
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	after := ReadCounters(to)
	d := after.Since(&before)
	if got := d.Device("cloud0"); got == nil || !got.Known || got.TxPackets < packets || got.TxBytes < packets*size {
		t.Errorf("counters: %+v", got)
	}
}

// BenchmarkFacts and BenchmarkCounters show what reading this machine takes.
func BenchmarkFacts(b *testing.B) {
	for b.Loop() {
		Read(b.Context(), Options{})
	}
}

func BenchmarkCounters(b *testing.B) {
	for b.Loop() {
		ReadCounters(netip.Addr{})
	}
}

// TestCost: the fastest of some readings stays within the limits. Others are slow where the machine is busy.
func TestCost(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		return
	}
	facts, counters := time.Hour, time.Hour
	for range 20 {
		facts = min(facts, time.Duration(Read(t.Context(), Options{}).Seconds*float64(time.Second)))
		counters = min(counters, time.Duration(ReadCounters(netip.Addr{}).Seconds*float64(time.Second)))
	}
	t.Logf("facts %v, counters %v", facts, counters)
	if facts > 300*time.Millisecond || counters > 5*time.Millisecond {
		t.Errorf("facts took %v and counters %v", facts, counters)
	}
}
