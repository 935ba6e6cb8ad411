package deploy

import (
	"fmt"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// Every host of a plan has its own addresses: those of the file, or placeholders that are printed as its name.
func TestPlannedHostsHaveTheirOwnAddresses(t *testing.T) {
	e := &experiment.Experiment{}
	for i := range 150 { // enough for addresses that begin like others
		name := fmt.Sprintf("h%d", i)
		e.Hosts = append(e.Hosts, experiment.HostSpec{Name: name, SSH: name},
			experiment.HostSpec{Name: name + "-s", SSH: name})
		e.Arms = append(e.Arms, experiment.Arm{Name: name, Client: name, Server: name + "-s"})
	}
	e.Hosts[1].Address, e.Hosts[1].Bind, e.Hosts[1].Port = "10.0.0.5", "0.0.0.0", 7000
	e.Arms = append(e.Arms, experiment.Arm{Name: "l2", Lab: &experiment.Lab{}})
	hosts, named := Planned(e), Placeholders(e)
	seen := map[string]string{}
	for _, arm := range e.Arms {
		pair := hosts[arm.Name].Endpoints()
		for _, end := range []host.Endpoint{pair.Client, pair.Server} {
			for _, a := range []string{end.Dial.V4.String(), end.Dial.V6.String()} {
				if other, twice := seen[a]; twice {
					t.Errorf("%s and %s have the address %s", end.Name, other, a)
				}
				seen[a] = end.Name
				want := "{address of " + end.Name + "}"
				if a == "10.0.0.5" {
					want = a
				}
				if got := named("x " + a + ":1"); got != "x "+want+":1" {
					t.Errorf("%s becomes %s, want %s", a, got, want)
				}
			}
		}
	}
	server := hosts["h0"].Endpoints().Server
	if server.Bind.V4.String() != "0.0.0.0" || server.Ports().Data != 7000 || server.Bind.V6 != server.Dial.V6 {
		t.Errorf("%+v", server)
	}
	if len(seen) != 2*len(e.Hosts)+4 {
		t.Errorf("%d addresses of %d hosts", len(seen), len(e.Hosts)+2)
	}
	if _, err := hosts["h0"].Client.Start(t.Context(), host.Cmd{Argv: []string{"true"}}); err == nil {
		t.Error("a planned host starts processes")
	}
}

// Pods are planned with what the file says of them. Arms that use the same pods in another way have their own
// addresses.
func TestPlannedPods(t *testing.T) {
	pods := func(through string, port int) *experiment.Kubernetes {
		return &experiment.Kubernetes{
			Client: &experiment.Pod{OS: experiment.PodLinux},
			Server: &experiment.Pod{
				OS: experiment.PodLinux, Port: port, Tools: map[string]string{"iperf3": "/opt/iperf3"},
			},
			Nodes: experiment.NodesDifferent, Through: through, Policy: experiment.PolicyOpen,
		}
	}
	e := &experiment.Experiment{
		Hosts: []experiment.HostSpec{{Name: "here", Local: true, Address: "10.0.0.5"}},
		Arms: []experiment.Arm{
			{Name: "pod", Kubernetes: pods(experiment.ThroughPod, 7000)},
			{Name: "again", Kubernetes: pods(experiment.ThroughPod, 7000)},
			{Name: "service", Kubernetes: pods(experiment.ThroughClusterIP, 0)},
			{Name: "node-port", Kubernetes: pods(experiment.ThroughNodePort, 0)},
			{Name: "mixed", Client: "here", Kubernetes: &experiment.Kubernetes{
				Server: &experiment.Pod{OS: experiment.PodWindows}, Through: experiment.ThroughPod,
			}},
		},
	}
	hosts, named := Planned(e), Placeholders(e)
	for arm, want := range map[string]struct {
		client, server string
		port           int
	}{
		"pod": {"pod/client", "pod/server", 7000}, "again": {"pod/client", "pod/server", 7000},
		"service":   {"service/client", "service/server", host.DefaultPort},
		"node-port": {"node-port/client", "node-port/server", experiment.MinNodePort},
		"mixed":     {"here", "mixed/server", host.DefaultPort},
	} {
		ends := hosts[arm].Endpoints()
		if ends.Client.Name != want.client || ends.Server.Name != want.server || ends.Server.Ports().Data != want.port {
			t.Errorf("%s: %+v, want %+v", arm, ends, want)
		}
		if got := named(ends.Server.Dial.V4.String()); got != "{address of "+want.server+"}" {
			t.Errorf("%s: the server's address is printed as %s", arm, got)
		}
		if tools := ends.Server.Tools["iperf3"]; arm != "mixed" && tools != "/opt/iperf3" {
			t.Errorf("%s: iperf3 is at %q", arm, tools)
		}
	}
	mixed := hosts["mixed"].Endpoints()
	if mixed.Client.Dial.V4.String() != "10.0.0.5" || mixed.Server.System.OS != "windows" {
		t.Errorf("mixed: %+v", mixed)
	}
}
