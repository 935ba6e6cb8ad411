package deploy

import (
	"net/netip"
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// machineWith is a host with addresses, whose kernel sends from the address of the first prefix that matches, else from
// that of the first device, by a default route.
func machineWith(name string, prefixes ...string) end {
	e := end{name: name}
	for i, text := range prefixes {
		e.addresses = append(e.addresses,
			agent.Interface{Name: "eth" + string(rune('0'+i)), Prefix: netip.MustParsePrefix(text)})
	}
	e.route = func(to netip.Addr) (check.Route, bool) {
		for _, i := range e.addresses {
			if i.Prefix.Addr() == to {
				return check.Route{Local: true, Source: to}, true
			}
		}
		for _, i := range e.addresses {
			if i.Prefix.Contains(to) {
				return check.Route{Source: i.Prefix.Addr()}, true
			}
		}
		return check.Route{Source: e.addresses[0].Prefix.Addr()}, true
	}
	return e
}

// TestAddressOnTheRoute: the address to measure at is the one that both kernels use between the two hosts, not the
// first of the host.
func TestAddressOnTheRoute(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b end
		want string
	}{
		{"a second network of b alone", machineWith("a", "10.0.0.4/24"),
			machineWith("b", "192.0.2.1/24", "10.0.0.5/24"), "10.0.0.4-10.0.0.5"},
		{"a second network of a alone", machineWith("a", "10.0.0.4/24", "192.0.2.1/24"),
			machineWith("b", "10.0.0.5/24"), "10.0.0.4-10.0.0.5"},
		{"public addresses and a shared network", machineWith("a", "192.0.2.1/24", "10.0.0.4/24"),
			machineWith("b", "198.51.100.1/24", "10.0.0.5/24"), "192.0.2.1-198.51.100.1 10.0.0.4-10.0.0.5"},
		{"a bridge for containers on both", machineWith("a", "172.17.0.1/16", "10.0.0.4/24"),
			machineWith("b", "172.17.0.1/16", "10.0.0.5/24"), "10.0.0.4-10.0.0.5"},
		{"a bridge on one", machineWith("a", "10.0.0.4/24"), machineWith("b", "172.18.0.1/16", "10.0.0.5/24"),
			"10.0.0.4-10.0.0.5"},
		{"two networks", machineWith("a", "10.0.0.4/24", "10.1.0.4/24"),
			machineWith("b", "10.0.0.5/24", "10.1.0.5/24"), "10.0.0.4-10.0.0.5 10.1.0.4-10.1.0.5"},
		{"one machine", machineWith("a", "10.0.0.4/24", "10.1.0.4/24"), machineWith("b", "10.0.0.4/24", "10.1.0.4/24"),
			""},
	} {
		var got []string
		found, asked := routes(c.a, c.b, experiment.IPv4)
		for _, f := range found {
			got = append(got, f.a.String()+"-"+f.b.String())
		}
		if strings.Join(got, " ") != c.want || !asked {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	silent := machineWith("b", "10.0.0.5/24", "10.1.0.5/24")
	silent.route = func(netip.Addr) (check.Route, bool) { return check.Route{}, false }
	if _, asked := routes(machineWith("a", "10.0.0.4/24"), silent, experiment.IPv4); asked {
		t.Error("a kernel that does not say counts as asked")
	}
}

// TestDoubtAboutAddresses: several addresses are a problem that says what to write; an address of the file ends it.
func TestDoubtAboutAddresses(t *testing.T) {
	addr := netip.MustParseAddr
	found := []between{{addr("10.0.0.4"), addr("10.0.0.5"), "eth0"}, {addr("10.1.0.4"), addr("10.1.0.5"), "eth1"}}
	k := &given{specs: map[string]experiment.HostSpec{}}
	chosen := map[string]host.Addresses{}
	problem := k.choose(chosen, "a", "b", experiment.IPv4, found)
	for _, part := range []string{"a reaches b", "10.0.0.5 (eth0), 10.1.0.5 (eth1)", "b: {..., address: 10.0.0.5}"} {
		if !strings.Contains(problem, part) {
			t.Errorf("%q lacks %q", problem, part)
		}
	}
	k.specs["b"] = experiment.HostSpec{Name: "b", Address: "10.1.0.5"}
	if problem := k.choose(chosen, "a", "b", experiment.IPv4, found); problem != "" ||
		chosen["a"].V4 != addr("10.1.0.4") || chosen["b"].V4.IsValid() {
		t.Errorf("with an address: %q, %v", problem, chosen)
	}
	if problem := k.choose(chosen, "a", "c", experiment.IPv4, found[:1]); !strings.Contains(problem,
		"a has one address for all arms") {
		t.Errorf("an arm elsewhere: %q", problem)
	}
}
