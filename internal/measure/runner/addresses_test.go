package runner

import (
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// bare is a host that has only an IPv4 address.
type bare struct{ host.Host }

func (h bare) Endpoint() host.Endpoint {
	e := h.Host.Endpoint()
	return host.Endpoint{Name: e.Name, Dial: host.Addresses{V4: e.Dial.V4}}
}

// withoutIPv6 makes hosts. The hosts of the arm "old" have no IPv6.
func withoutIPv6(e *experiment.Experiment) map[string]host.Hosts {
	hosts := (&scene{}).hosts(e)
	old := hosts["old"]
	old.Server = bare{old.Server}
	hosts["old"] = old
	return hosts
}

// All missing addresses are reported together, before anything is measured.
func TestMissingAddresses(t *testing.T) {
	e := &experiment.Experiment{
		Arms: []experiment.Arm{{Name: "new"}, {Name: "old"}},
		Workloads: []experiment.Workload{
			{Name: "four", Tool: "clocked", IP: experiment.IPv4}, {Name: "six", Tool: "clocked", IP: experiment.IPv6},
			{Name: "any", Tool: "clocked"}, {Name: "six-too", Tool: "clocked", IP: experiment.IPv6},
		},
	}
	err := New(e, tools{clocked{}}, withoutIPv6(e), DefaultLimits(), nil).Prepare(t.Context())
	if err == nil {
		t.Fatal("a server without an IPv6 address will do")
	}
	for _, want := range []string{"nothing was measured", "old/server has no IPv6 address (needed by six)",
		"old/server has no IPv6 address (needed by six-too)", "nearfar doctor"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "new/server") || strings.Contains(err.Error(), "needed by four") ||
		strings.Contains(err.Error(), "needed by any") {
		t.Error(err)
	}
	e.Workloads = e.Workloads[:1]
	if err := New(e, tools{clocked{}}, withoutIPv6(e), DefaultLimits(), nil).Prepare(t.Context()); err != nil {
		t.Error(err)
	}
}
