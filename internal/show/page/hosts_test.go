package page

import (
	"slices"
	"testing"

	"nearfar/internal/declare/rundir"
)

// Addresses and counters always differ between arms. Names of treatments and facts about the machine do not.
func TestOwnFacts(t *testing.T) {
	for _, c := range []struct {
		workload int
		name     string
		values   []string
		want     bool
	}{
		{-1, "lab.arms.client6", []string{"fd8e:1::2", "fd8e:2::2"}, true},
		{0, "underlay.left", []string{"10.0.0.1/24", "", "10.0.1.1/24"}, true},
		{0, "peer", []string{"10.0.0.1:5001", "[fd00::1]:5001"}, true},
		{0, "veth.hw", []string{"02:00:00:00:00:01", "02:00:00:00:00:02"}, true},
		{-1, "lab.arms.counters.rx", []string{"120", "340"}, true},
		{-1, "lab.arms.host_mtu", []string{"1500", "1450"}, false},
		{0, "tcp_congestion", []string{"cubic", "bbr"}, false},
		{0, "kernel", []string{"6.1", "6.9"}, false},
		{0, "empty", []string{"", ""}, false},
	} {
		if got := own(c.workload, c.name, c.values); got != c.want {
			t.Errorf("own(%d, %q, %q) is %v", c.workload, c.name, c.values, got)
		}
	}
}

// The page does not list all facts of the hosts: the answer has what differs, and run.json the rest.
func TestFactsAreLeftOut(t *testing.T) {
	dir := sample{arms: []string{"l2", "routed"}, blocks: 1, rounds: 300, plain: true}.write(t)
	if err := dir.Update(func(m *rundir.Manifest) {
		m.Hosts = []byte(`{"facts":[{"sides":["l2/client"],"facts":{"kernel":"6.8"}}],"before":{"busy":0.5}}`)
	}); err != nil {
		t.Fatal(err)
	}
	d, _ := collected(t, dir)
	if want := []Fact{{"before.busy", "0.5"}}; !slices.Equal(d.Hosts.Run, want) || len(d.Hosts.Arms) > 0 {
		t.Errorf("%+v", d.Hosts)
	}
}
