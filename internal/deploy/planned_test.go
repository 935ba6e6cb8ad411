package deploy

import (
	"fmt"
	"testing"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
)

// Every host of a plan has its own addresses: those of the file, or placeholders that are printed as its name.
func TestPlannedHostsHaveTheirOwnAddresses(t *testing.T) {
	e := &experiment.Experiment{}
	for i := range 150 { // enough for addresses that begin like others
		name := fmt.Sprintf("h%d", i)
		e.Hosts = append(e.Hosts, experiment.HostSpec{Name: name, SSH: name}, experiment.HostSpec{Name: name + "-s", SSH: name})
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
