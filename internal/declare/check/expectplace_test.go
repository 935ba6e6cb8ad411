package check

import (
	"fmt"
	"testing"
	"testing/fstest"
)

func TestPlaceExpectations(t *testing.T) {
	text := func(s string) *string { return &s }
	azure := Where{Cloud: CloudAzure, Region: "westeurope", Zone: "2", Account: "s1", InstanceType: "Standard_D4s_v5"}
	aws := Where{Cloud: CloudAWS, Region: "eu-west-1", Zone: "eu-west-1a", ZoneID: "euw1-az3", Account: "1",
		PlacementGroup: text("perf")}
	gcp := Where{Cloud: CloudGCP, Region: "us-central1", Zone: "us-central1-a",
		Topology: &Topology{Cluster: "c", Block: "b", Subblock: "s", Host: "h"}}
	with := func(w Where, change func(w *Where)) Where { change(&w); return w }
	for _, test := range []struct {
		name           string
		client, server Where
		e              Expectation
		want           Outcome
	}{
		{"", azure, azure, Expectation{Name: ExpectSameZone, Value: true}, Proved},
		{"", azure, azure, Expectation{Name: ExpectSameZone, Value: false}, Refuted},
		{"", azure, azure, Expectation{Name: ExpectDifferentZone, Value: true}, Refuted},
		{"another zone", azure, with(azure, func(w *Where) { w.Zone = "1" }),
			Expectation{Name: ExpectDifferentZone, Value: true}, Proved},
		{"another subscription", azure, with(azure, func(w *Where) { w.Account = "s2" }),
			Expectation{Name: ExpectSameZone, Value: true}, Unknown},
		{"another subscription", azure, with(azure, func(w *Where) { w.Account, w.Zone = "s2", "1" }),
			Expectation{Name: ExpectDifferentZone, Value: true}, Unknown},
		{"no zone", azure, with(azure, func(w *Where) { w.Zone = "" }),
			Expectation{Name: ExpectSameZone, Value: true}, Unknown},
		{"another region", azure, with(azure, func(w *Where) { w.Region = "northeurope" }),
			Expectation{Name: ExpectSameZone, Value: true}, Refuted},
		{"another cloud", azure, aws, Expectation{Name: ExpectSameZone, Value: true}, Refuted},
		{"", aws, aws, Expectation{Name: ExpectSameZone, Value: true}, Proved},
		{"same name, another zone", aws, with(aws, func(w *Where) { w.ZoneID = "euw1-az1" }),
			Expectation{Name: ExpectSameZone, Value: true}, Refuted},
		{"no identifier", aws, with(aws, func(w *Where) { w.ZoneID = "" }),
			Expectation{Name: ExpectSameZone, Value: true}, Unknown},
		{"", gcp, gcp, Expectation{Name: ExpectSameZone, Value: true}, Proved},
		{"another project", gcp, with(gcp, func(w *Where) { w.Account = "p2" }),
			Expectation{Name: ExpectSameZone, Value: true}, Unknown},
		{"another project", gcp, with(gcp, func(w *Where) { w.Account, w.Zone = "p2", "us-central1-b" }),
			Expectation{Name: ExpectDifferentZone, Value: true}, Unknown},
		{"", azure, azure, Expectation{Name: ExpectInstanceType, Value: "Standard_D4s_v5"}, Proved},
		{"", azure, azure, Expectation{Name: ExpectInstanceType, Value: "Standard_D4s_v6"}, Refuted},
		{"", azure, Where{Cloud: CloudAzure, Problem: "no answer"},
			Expectation{Name: ExpectInstanceType, Value: "Standard_D4s_v5"}, Unknown},
		{"", azure, azure, Expectation{Name: ExpectProximity, Value: true}, Unknown},
		{"", azure, azure, Expectation{Name: ExpectProximity, Value: false}, Unknown},
		{"", aws, aws, Expectation{Name: ExpectPlacementGroup, Value: "perf"}, Proved},
		{"", aws, aws, Expectation{Name: ExpectPlacementGroup, Value: true}, Proved},
		{"", aws, aws, Expectation{Name: ExpectPlacementGroup, Value: "other"}, Refuted},
		{"none", aws, with(aws, func(w *Where) { w.PlacementGroup = text("") }),
			Expectation{Name: ExpectPlacementGroup, Value: "perf"}, Refuted},
		{"not asked", aws, with(aws, func(w *Where) { w.PlacementGroup = nil }),
			Expectation{Name: ExpectPlacementGroup, Value: "perf"}, Unknown},
		{"another account", aws, with(aws, func(w *Where) { w.Account = "2" }),
			Expectation{Name: ExpectPlacementGroup, Value: "perf"}, Unknown},
		{"", azure, azure, Expectation{Name: ExpectPlacementGroup, Value: "perf"}, Unknown},
		{"", gcp, gcp, Expectation{Name: ExpectCompactPlacement, Value: true}, Proved},
		{"another block", gcp, with(gcp, func(w *Where) { w.Topology = &Topology{Cluster: "c", Block: "b2"} }),
			Expectation{Name: ExpectCompactPlacement, Value: true}, Refuted},
		{"no topology", gcp, with(gcp, func(w *Where) { w.Topology = nil }),
			Expectation{Name: ExpectCompactPlacement, Value: true}, Unknown},
		{"empty topology", with(gcp, func(w *Where) { w.Topology = &Topology{} }),
			with(gcp, func(w *Where) { w.Topology = &Topology{} }),
			Expectation{Name: ExpectCompactPlacement, Value: true}, Unknown},
		{"", aws, aws, Expectation{Name: ExpectCompactPlacement, Value: true}, Unknown},
	} {
		trial := Trial{
			Client: Side{Facts: &Facts{Where: &test.client}}, Server: Side{Facts: &Facts{Where: &test.server}},
		}
		expect(t, trial, test.e, test.want)
		trial.Server.Facts = &Facts{}
		expect(t, trial, test.e, Unknown)
		expect(t, Trial{}, test.e, Unknown)
	}
}

func TestNodeExpectations(t *testing.T) {
	side := func(node, boot string) Side {
		s := Side{Node: node}
		if boot != "-" {
			s.Facts = &Facts{Machine: Machine{BootID: boot}}
		}
		return s
	}
	for _, test := range []struct {
		client, server Side
		same           Outcome
	}{
		{side("n1", "a"), side("n1", "a"), Proved},
		{side("n1", "-"), side("n2", "-"), Refuted},
		{side("n1", "a"), side("n2", "a"), Refuted}, // nodes in containers of one machine
		{side("n1", "a"), side("n1", "b"), Proved},  // pods with kernels of their own
		{side("n1", "a"), side("", "a"), Unknown},
		{side("", "a"), side("", "a"), Proved},
		{side("", "a"), side("", "b"), Refuted},
		{side("", ""), side("", ""), Unknown},
		{side("", "a"), side("", "-"), Unknown},
	} {
		trial := Trial{Client: test.client, Server: test.server}
		opposite := map[Outcome]Outcome{Proved: Refuted, Refuted: Proved, Unknown: Unknown}[test.same]
		expect(t, trial, Expectation{Name: ExpectSameNode, Value: true}, test.same)
		expect(t, trial, Expectation{Name: ExpectSameNode, Value: false}, opposite)
		expect(t, trial, Expectation{Name: ExpectDifferentNodes, Value: true}, opposite)
	}
}

// What is known of both machines must not contradict itself. Containers with boot ids of their own can be on one
// machine.
func TestNodesThatContradictThemselves(t *testing.T) {
	machine := func(boot, instance string, change func(f *Facts)) Side {
		f := &Facts{Machine: Machine{BootID: boot, Kernel: "6.8"}, Where: &Where{Cloud: CloudAWS, InstanceID: instance}}
		if change != nil {
			change(f)
		}
		return Side{Facts: f}
	}
	own := func(f *Facts) { f.OwnBootID = true }
	old := func(f *Facts) { f.Kernel = "6.1" }
	for name, test := range map[string]struct {
		client, server Side
		same           Outcome
	}{
		"two machines":                        {machine("a", "i-1", nil), machine("b", "i-2", nil), Refuted},
		"one machine":                         {machine("a", "i-1", nil), machine("a", "i-1", nil), Proved},
		"kernels of their own on one":         {machine("a", "i-1", nil), machine("b", "i-1", nil), Unknown},
		"a machine that was copied":           {machine("a", "i-1", nil), machine("a", "i-2", nil), Unknown},
		"one boot id, two kernels":            {machine("a", "", nil), machine("a", "", old), Unknown},
		"two containers":                      {machine("a", "", own), machine("b", "", own), Unknown},
		"a container and a machine":           {machine("a", "", own), machine("b", "", nil), Unknown},
		"one container":                       {machine("a", "", own), machine("a", "", own), Proved},
		"a machine of which nothing is known": {machine("a", "", nil), machine("", "", nil), Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			trial := Trial{Client: test.client, Server: test.server}
			opposite := map[Outcome]Outcome{Proved: Refuted, Refuted: Proved, Unknown: Unknown}[test.same]
			expect(t, trial, Expectation{Name: ExpectSameNode, Value: true}, test.same)
			expect(t, trial, Expectation{Name: ExpectDifferentNodes, Value: true}, opposite)
		})
	}
}

// TestOwnBootID: a file that is mounted over the kernel's boot id is noticed.
func TestOwnBootID(t *testing.T) {
	const mounts = "22 1 0:20 / /proc rw,nosuid - proc proc rw\n" +
		"31 22 0:24 /boot-id /proc/sys/kernel/random/%s ro - tmpfs none rw\n"
	for file, own := range map[string]bool{"boot_id": true, "uuid": false} {
		files := fstest.MapFS{
			"proc/sys/kernel/random/boot_id": {Data: []byte("one\n")},
			"proc/self/mountinfo":            {Data: fmt.Appendf(nil, mounts, file)},
		}
		if m := linuxMachine(files); m.OwnBootID != own || m.BootID != "one" {
			t.Errorf("a mount over %s: %+v", file, m)
		}
		delete(files, "proc/self/mountinfo")
		if linuxMachine(files).OwnBootID {
			t.Error("without a list of mounts")
		}
	}
}
