package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestBound: counters from a hostile host are kept only within bounds.
func TestBound(t *testing.T) {
	long := strings.Repeat("x", 1000) + "\x1b[31m"
	many := map[string]uint64{}
	for i := range 10_000 {
		many[fmt.Sprint("\x1b[2J", i)] = 1
	}
	c := Counters{BootID: long, Protocols: many, Softirq: many, Conntrack: many}
	for range 1000 {
		c.Switched = append(c.Switched, "\x1b"+long)
		c.Devices = append(c.Devices, DeviceCounters{Name: "\x1b" + long, Own: many})
	}
	c.Bound()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 200<<10 || strings.Contains(string(data), `\u001b`) {
		t.Errorf("%d bytes", len(data))
	}
	for of, n := range map[string]int{
		"devices": len(c.Devices) - maxDevices, "switched": len(c.Switched) - maxDevices,
		"counters": len(c.Devices[0].Own) - maxOwn, "protocols": len(c.Protocols) - maxOwn,
	} {
		if n != 0 {
			t.Errorf("%d %s too many", n, of)
		}
	}
	whole := Counters{BootID: "b", Protocols: map[string]uint64{"Tcp.OutSegs": 1}}
	if whole.Bound(); whole.BootID != "b" || whole.Protocols["Tcp.OutSegs"] != 1 {
		t.Errorf("what is within the bounds was changed: %+v", whole)
	}
}

// TestCompact: what did not grow is left out, but for the counters that tell whether a treatment was used.
func TestCompact(t *testing.T) {
	c := Counters{
		Protocols: map[string]uint64{"Tcp.RetransSegs": 0, "Tcp.OutSegs": 3}, Softirq: map[string]uint64{"NET_TX": 0},
		Devices: []DeviceCounters{{Name: "eth0", Own: map[string]uint64{"vf_tx_packets": 0, "tx_drops": 0}}},
	}
	d := c.Compact()
	_, kept := d.Devices[0].Own["vf_tx_packets"]
	if !kept || len(d.Devices[0].Own) != 1 || len(d.Protocols) != 1 || d.Softirq != nil || len(c.Protocols) != 2 ||
		len(c.Devices[0].Own) != 2 {
		t.Errorf("%+v of %+v", d, c)
	}
}
