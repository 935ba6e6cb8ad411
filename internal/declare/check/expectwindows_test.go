package check

import (
	"net/netip"
	"strings"
	"testing"
)

// TestAcceleratedOnWindows: a missing virtual function refutes, and one that is attached is named with its counters, and
// proves nothing.
func TestAcceleratedOnWindows(t *testing.T) {
	synthetic := Device{Link: Link{Name: "Ethernet", Index: 4, Address: "00:0d:3a:00:00:01"},
		Details: Details{Driver: "Microsoft Hyper-V Network Adapter #2"}}
	function := Device{Link: Link{Name: "Ethernet 2", Index: 7, Address: "00:0d:3a:00:00:01", Master: 4},
		Details: Details{Driver: "Mellanox ConnectX-5 Virtual Adapter"}}
	counters := &Counters{Devices: []DeviceCounters{
		{Name: "Ethernet 2", Index: 7, Master: 4, Statistics: Statistics{TxBytes: 9000, TxPackets: 90, Known: true}},
	}}
	for name, c := range map[string]struct {
		devices []Device
		want    Outcome
		says    string
	}{
		"without": {[]Device{synthetic}, Refuted, "no virtual function has its address"},
		"with":    {[]Device{synthetic, function}, Unknown, "carried 9000 bytes in 90 packets out"},
	} {
		facts := &Facts{Devices: c.devices, Path: &Path{To: netip.MustParseAddr("10.0.0.5"), Route: Route{Device: "Ethernet"}}}
		f := accelerated(one{Side: Side{Facts: facts, Counters: counters}, protocol: "tcp"})
		if f.outcome != c.want || !strings.Contains(f.evidence, c.says) {
			t.Errorf("%s: %s, %q", name, f.outcome, f.evidence)
		}
	}
}
