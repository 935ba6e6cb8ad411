package environment

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// hostOf is a host of factsOf: what it is in the arms, in which deployment, and how its facts differ from plainFacts.
type hostOf struct {
	deployment int
	sides      []string
	change     func(f *check.Facts)
}

// plainFacts are the facts of a virtual machine in AWS.
func plainFacts() *check.Facts {
	return &check.Facts{
		OS: "linux", Arch: "amd64", Hostname: "vm",
		Machine:  check.Machine{Kernel: "6.8", Model: "EPYC", CPUs: make([]check.CPU, 4), Memory: 16 << 30},
		Settings: map[string]string{"ipv4/tcp_congestion_control": "cubic", "ipv4/tcp_ecn": "2"},
		Devices: []check.Device{{Link: check.Link{Name: "eth0", Index: 2, MTU: 1500, Address: "02:00:00:00:00:01"},
			Details: check.Details{Driver: "ena", Rings: map[string]uint32{"rx": 1024}}, NUMA: -1}},
		Path:  &check.Path{Route: check.Route{Device: "eth0"}, MTU: 1500},
		Where: &check.Where{Cloud: check.CloudAWS, InstanceType: "c6i.large", Zone: "eu-1a", InstanceID: "i-1"},
	}
}

// factsOf is the part of a run's hosts about facts.
func factsOf(t *testing.T, hosts ...hostOf) json.RawMessage {
	t.Helper()
	var all []map[string]any
	for i, h := range hosts {
		f := plainFacts()
		f.Hostname = fmt.Sprint("vm", i)
		if h.change != nil {
			h.change(f)
		}
		all = append(all, map[string]any{"deployment": max(h.deployment, 1), "host": f.Hostname, "sides": h.sides,
			"facts": f})
	}
	data, err := json.Marshal(map[string]any{"facts": all})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func differingLines(all []Differing) (lines []string) {
	for _, d := range all {
		line := d.Arm + " " + d.Side + ": " + d.String()
		if d.Matters {
			line += " !"
		}
		if d.Declared {
			line += " (declared)"
		}
		lines = append(lines, line)
	}
	return lines
}

// The differences between the hosts of an arm and of the baseline are listed, with a warning about those that matter.
// The other side of the arm is never compared.
func TestHostsDiffer(t *testing.T) {
	in := Run{Experiment: givenExperiment(), Hosts: factsOf(t,
		hostOf{sides: []string{"near/client", "far/client"}},
		hostOf{sides: []string{"near/server"}, change: func(f *check.Facts) { f.Model = "Xeon" }},
		hostOf{sides: []string{"far/server"}, change: func(f *check.Facts) {
			f.Model, f.Kernel, f.Devices[0].Rings["rx"], f.Where.Zone = "Xeon", "6.1", 256, "eu-1b"
			f.Load.Average, f.Devices[0].Address, f.BootID = 9, "02:00:00:00:00:02", "2"
			f.Devices[0].Name, f.Path.Device = "ens5", "ens5"
		}})}
	differs := hostsDiffering(in)
	want := []string{"far server: kernel 6.8 -> 6.1 !", "far server: zone eu-1a -> eu-1b !",
		"far server: ring rx 1024 -> 256"}
	if diff := cmp.Diff(want, differingLines(differs)); diff != "" {
		t.Error(diff)
	}
	w := in.Warnings(differs)
	if len(w) != 1 || w[0].Code != "arms-differ-in-machines" || w[0].Arm != "far" ||
		w[0].Message != "the machines differ from those of near, "+
			"which alone can make a difference: the server's kernel 6.8 -> 6.1; the server's zone eu-1a -> eu-1b" {
		t.Errorf("%+v", w)
	}

	kernel := func(f *check.Facts) { f.Kernel = "6.1" }
	in.Hosts = factsOf(t, hostOf{sides: []string{"near/client", "near/server"}},
		hostOf{sides: []string{"far/client", "far/server"}, change: kernel})
	w = machinesDiffer(in.Experiment, hostsDiffering(in))
	if len(w) != 1 || !strings.HasSuffix(w[0].Message, ": both hosts' kernel 6.8 -> 6.1") {
		t.Errorf("%+v", w)
	}
	for _, unknown := range []string{"", "{}", `{"facts":"x"}`, `{"facts":[{"sides":["near/client"]}]}`,
		`{"facts":[null,{"sides":["far/client"],"facts":{}}]}`} {
		if d := hostsDiffering(Run{Experiment: givenExperiment(), Hosts: []byte(unknown)}); len(d) > 0 {
			t.Errorf("%s: %+v", unknown, d)
		}
	}
}

// Over several deployments, a difference is what differs in most of them, and not by chance.
func TestHostsDifferOverDeployments(t *testing.T) {
	of := func(models ...[2]string) []string {
		var hosts []hostOf
		for i, m := range models {
			for j, side := range []string{"near/server", "far/server"} {
				hosts = append(hosts, hostOf{deployment: i + 1, sides: []string{side},
					change: func(f *check.Facts) { f.Model = m[j] }})
			}
		}
		return differingLines(hostsDiffering(Run{Experiment: givenExperiment(), Hosts: factsOf(t, hosts...)}))
	}
	for name, test := range map[string]struct {
		models [][2]string
		want   []string
	}{
		"all":            {[][2]string{{"X", "Y"}, {"X", "Y"}}, []string{"far server: CPU X -> Y !"}},
		"most":           {[][2]string{{"X", "Y"}, {"X", "X"}, {"X", "Z"}}, []string{"far server: CPU X -> Y, X, Z !"}},
		"half":           {[][2]string{{"X", "Y"}, {"X", "X"}}, nil},
		"by chance":      {[][2]string{{"X", "Y"}, {"Y", "X"}}, nil},
		"unknown in one": {[][2]string{{"X", "Y"}, {"X", ""}}, []string{"far server: CPU X -> Y !"}},
	} {
		if diff := cmp.Diff(test.want, of(test.models...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What the file declares to differ is marked and not warned of.
func TestDeclaredDifferences(t *testing.T) {
	expect := func(name string, value any) []check.Expectation {
		return []check.Expectation{{Name: name, Value: value}}
	}
	pod := func(p experiment.Pod) *experiment.Kubernetes {
		return &experiment.Kubernetes{Client: &p, Server: &p, Nodes: experiment.NodesDifferent}
	}
	pool := func(key, value string) *experiment.Kubernetes {
		return pod(experiment.Pod{NodeSelector: map[string]string{key: value}})
	}
	type change func(base, arm *experiment.Arm)
	expecting := func(name string, a any, other string, b any) change {
		return func(base, arm *experiment.Arm) { base.Expect, arm.Expect = expect(name, a), expect(other, b) }
	}
	pods := func(a, b *experiment.Kubernetes) change {
		return func(base, arm *experiment.Arm) { base.Kubernetes, arm.Kubernetes = a, b }
	}
	labels := func(key, a, b string) change { return pods(pool(key, a), pool(key, b)) }
	zones := pod(experiment.Pod{})
	zones.Nodes = experiment.NodesDifferentZones
	lab := func(mtu int) *experiment.Lab {
		return &experiment.Lab{MTU: mtu, Path: []experiment.Element{{Kind: experiment.Bridge}}}
	}
	const all = "kernel CPU instance type zone MTU"
	for name, test := range map[string]struct {
		change change
		// want are the names of the facts that are declared.
		want string
	}{
		"nothing": {func(*experiment.Arm, *experiment.Arm) {}, ""},
		"the path of a lab": {func(base, arm *experiment.Arm) {
			base.Lab, arm.Lab = lab(1500), lab(9000)
		}, "MTU"},
		"the same lab":    {func(base, arm *experiment.Arm) { base.Lab, arm.Lab = lab(1500), lab(1500) }, ""},
		"a lab and hosts": {func(_, arm *experiment.Arm) { arm.Lab = lab(1500) }, "MTU"},
		"pods and hosts":  {func(_, arm *experiment.Arm) { arm.Kubernetes = pod(experiment.Pod{}) }, "MTU"},
		"congestion": {func(_, arm *experiment.Arm) { arm.Set = []experiment.Setting{{Key: "congestion"}} },
			"default congestion control"},
		"another setting": {func(_, arm *experiment.Arm) { arm.Set = []experiment.Setting{{Key: "dscp"}} }, ""},
		"MTU":             {expecting("mtu", 1500, "mtu", 9000), "MTU"},
		"MTU of one":      {func(_, arm *experiment.Arm) { arm.Expect = expect("mtu", 9000) }, ""},
		"the same MTU":    {expecting("mtu", 1500, "mtu", 1500), ""},
		"instance type": {func(base, arm *experiment.Arm) {
			base.Expect, arm.Expect = expect("instance-type", "a"), expect("instance-type", "b")
		}, "CPU instance type"},
		"same zone, or no": {func(base, arm *experiment.Arm) {
			base.Expect, arm.Expect = expect("same-zone", true), expect("same-zone", false)
		}, "zone"},
		"zones": {func(base, arm *experiment.Arm) {
			base.Expect, arm.Expect = expect("same-zone", true), expect("different-zone", true)
		}, "zone"},
		"the same zones": {func(base, arm *experiment.Arm) {
			base.Expect, arm.Expect = expect("same-zone", true), expect("different-zone", false)
		}, ""},
		"a fact": {func(base, arm *experiment.Arm) {
			base.Expect = []check.Expectation{{Name: "fact", Path: "server.devices.eth0.mtu", Value: 1500}}
			arm.Expect = []check.Expectation{{Name: "fact", Path: "server.devices.eth0.mtu", Value: 9000}}
		}, "MTU"},
		"pools":          {labels("pool", "x", "y"), all + " default congestion control"},
		"the same pool":  {labels("pool", "x", "x"), ""},
		"nodes by name":  {labels("kubernetes.io/hostname", "x", "y"), ""},
		"zones by label": {labels("topology.kubernetes.io/zone", "x", "y"), "zone"},
		"types by label": {labels("node.kubernetes.io/instance-type", "x", "y"), "CPU instance type"},
		"the node's network": {func(base, arm *experiment.Arm) {
			base.Kubernetes, arm.Kubernetes = pod(experiment.Pod{}), pod(experiment.Pod{HostNetwork: true})
		}, "MTU"},
		"nodes in other zones": {pods(pod(experiment.Pod{}), zones), "zone"},
	} {
		e := givenExperiment()
		test.change(&e.Arms[0], &e.Arms[1])
		in := Run{Experiment: e, Hosts: factsOf(t, hostOf{sides: []string{"near/server"}},
			hostOf{sides: []string{"far/server"}, change: func(f *check.Facts) {
				f.Kernel, f.Model, f.Where.InstanceType, f.Where.Zone = "6.1", "Xeon", "c7g.large", "eu-1b"
				f.Devices[0].MTU, f.Path.MTU = 9000, 9000
				f.Settings["ipv4/tcp_congestion_control"] = "bbr"
			}})}
		differs := hostsDiffering(in)
		if len(differs) != 6 {
			t.Fatalf("%s: %q", name, differingLines(differs))
		}
		var got []string
		for _, known := range []string{"kernel", "CPU", "instance type", "zone", "MTU", "default congestion control"} {
			for _, d := range differs {
				if d.Name == known && d.Declared {
					got = append(got, d.Name)
				}
			}
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		warned := machinesDiffer(e, differs)
		for _, d := range differs {
			if inText := len(warned) > 0 && strings.Contains(warned[0].Message, d.String()); inText == d.Declared {
				t.Errorf("%s: %s: declared %v, in the warning %v", name, d.Name, d.Declared, inText)
			}
		}
	}
}

// The hosts of two runs are compared by the same rule. A difference that all hosts share is listed once, without naming
// hosts.
func TestFactsOfRunsDiffer(t *testing.T) {
	arms := [][2]string{{"near", "near"}, {"far", "far"}}
	run := func(client, server func(f *check.Facts)) HostsOf {
		return HostsOf{"one", factsOf(t, hostOf{sides: []string{"near/client", "far/client"}, change: client},
			hostOf{sides: []string{"near/server", "far/server"}, change: server})}
	}
	kernel := func(f *check.Facts) { f.Kernel = "6.1" }
	both := func(f *check.Facts) { f.Kernel, f.Devices[0].MTU, f.Load.Average = "6.1", 9000, 3 }
	lines := DifferingHosts(run(nil, nil), run(kernel, both), arms)
	want := []string{"kernel 6.8 -> 6.1", "MTU 1500 -> 9000 (server of near, server of far)"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if lines := DifferingHosts(run(nil, nil), run(nil, nil), arms); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	// A run of an earlier version records its machines in another form. They are not compared with the facts of a run.
	if lines := DifferingHosts(HostsOf{"one", []byte(givenBefore)}, run(kernel, both), arms); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}
