//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// checked is what check prints.
type checked struct {
	Hosts []struct {
		Host  string
		Sides []string
		Facts *check.Facts
	}
	Ready *bool
}

// TestCheckHere reads the facts of this machine as a host of a file, and of the hosts of a lab.
func TestCheckHere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arm, hosts, device string }{
		{"{client: here, server: here}", fmt.Sprintf("hosts: {here: {local: {}, port: %d}}", freePorts(t)), "lo"},
		{"{lab: {path: [bridge]}}", "", "eth0"},
	} {
		file := write(t, t.TempDir(), "nearfar: v1\nname: facts\n"+test.hosts+"\narms:\n  one: "+test.arm+
			"\nworkloads: [{name: rr, tool: native, mode: rr}]\n")
		out, err := exec.CommandContext(t.Context(), program, "check", "-f", "json", file).Output()
		var a checked
		if err == nil {
			err = json.Unmarshal(out, &a)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(a.Hosts) == 0 || a.Ready == nil || !*a.Ready {
			t.Fatalf("got %+v", a)
		}
		for _, h := range a.Hosts {
			if h.Facts == nil || h.Facts.Path == nil || h.Facts.Path.Device != test.device ||
				h.Facts.Path.Local != (test.device == "lo") {
				t.Errorf("got %+v", h)
			}
		}
	}
}

// TestCheckBySSH reads the facts of hosts that real ssh reaches, of a file and by name. Nothing is left on them.
func TestCheckBySSH(t *testing.T) {
	t.Parallel()
	bridge := []experiment.Element{{Kind: experiment.Bridge}}
	r := newSSHRig(t, sshPair{"vm-a", "vm-b", bridge, experiment.PlacementShared})
	file := write(t, r.dir, r.addressed(`nearfar: v1
name: facts
hosts:
  vm-a: {ssh: vm-a, address: VM-A}
  vm-b: {ssh: vm-b, address: VM-B}
arms:
  one: {client: vm-a, server: vm-b}
workloads: [{name: rr, tool: native, mode: rr}]
`))
	read := func(args ...string) (a checked) {
		t.Helper()
		cmd, mark := r.command(append([]string{"check", "-f", "json", "--ssh-config", r.config}, args...)...)
		stdout, _ := r.answered(cmd)
		if err := json.Unmarshal(stdout, &a); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		r.wantNothingLeft(leftLimit)
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("left on nearfar's side: %v", left)
		}
		return a
	}
	a := read(file)
	if len(a.Hosts) != 2 || a.Ready == nil || !*a.Ready {
		t.Fatalf("got %+v", a)
	}
	for i, h := range a.Hosts {
		other := r.hosts[[]string{"vm-b", "vm-a"}[i]].data
		f := h.Facts
		if h.Host != []string{"vm-a", "vm-b"}[i] || len(h.Sides) != 1 || f == nil || f.Kernel == "" || f.Path == nil ||
			f.Path.To.String() != other || f.OnPath() == nil || f.OnPath().Kind != "veth" || f.Path.MTU == 0 {
			t.Errorf("host %d: %+v", i, h)
			continue
		}
		t.Logf("%s: %.1f ms", h.Host, f.Seconds*1000)
		if f.Where != nil && f.Firmware.Cloud() == "" {
			t.Errorf("%s asked a metadata service: %+v", h.Host, f.Where)
		}
	}
	a = read("vm-b")
	if len(a.Hosts) != 1 || a.Hosts[0].Host != "vm-b" || a.Hosts[0].Facts == nil || a.Hosts[0].Facts.Path != nil ||
		a.Ready != nil {
		t.Errorf("got %+v", a)
	}
}
