package page

import "testing"

// Addresses and counters differ between arms in any case; what names a treatment or the machine does not.
func TestOwnFacts(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		want   bool
	}{
		{"lab.arms.client6", []string{"fd8e:1::2", "fd8e:2::2"}, true},
		{"underlay.left", []string{"10.0.0.1/24", "", "10.0.1.1/24"}, true},
		{"peer", []string{"10.0.0.1:5001", "[fd00::1]:5001"}, true},
		{"veth.hw", []string{"02:00:00:00:00:01", "02:00:00:00:00:02"}, true},
		{"wire.rx_packets", []string{"120", "340"}, true},
		{"lab.arms.host_mtu", []string{"1500", "1450"}, false},
		{"tcp_congestion", []string{"cubic", "bbr"}, false},
		{"kernel", []string{"6.1", "6.9"}, false},
		{"empty", []string{"", ""}, false},
	} {
		if got := own(c.name, c.values); got != c.want {
			t.Errorf("own(%q, %q) is %v", c.name, c.values, got)
		}
	}
}
