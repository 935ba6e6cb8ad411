package environment

import (
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

const hostsBefore = `{"lab":{"user_namespace":false,"kernel":"6.9","wire":"user-space","cpus":[0,1],"service_cpu":0,"cpu_model":"EPYC","clock_source":"tsc",
"congestion":"cubic","features":{"ipv6":true,"netem":false},"arms":[{"arm":"l2","client":"10.1.0.1","host_mtu":1500,"underlay_mtu":1500,"namespaces":["a"]}]},
"elements":{"l2":[{"element":0,"counters":{"left.rx_packets":17},"wire":{"lateness_p99":3000}}]},"before":{"average":0.1,"busy":0}}`

// TestDifferingHosts: packets, addresses, namespaces and the load before the start differ between any two runs and
// are left out. Facts that can influence figures have a line each.
func TestDifferingHosts(t *testing.T) {
	replace := strings.NewReplacer("17", "99", "10.1.0.1", "10.9.0.1", `["a"]`, `["b"]`, "3000", "40000",
		`"average":0.1`, `"average":3`, `"service_cpu":0`, `"service_cpu":1`, `"netem":false`, `"netem":true`)
	differing := func(machine, hosts string) []string {
		return DifferingHosts(HostsOf{"one", []byte(hostsBefore)}, HostsOf{machine, []byte(hosts)}, nil)
	}
	if lines := differing("one", replace.Replace(hostsBefore)); len(lines) != 0 {
		t.Errorf("what differs in any case: %q", lines)
	}
	other := strings.NewReplacer(`"6.9"`, `"6.1"`, "EPYC", "Xeon", "[0,1]", "[0,1,2,3]", "tsc", "hpet", "user-space",
		"netem", "cubic", "bbr",
		`"ipv6":true`, `"ipv6":false`, `"user_namespace":false`, `"user_namespace":true`, `"host_mtu":1500`,
		`"host_mtu":1450`).Replace(hostsBefore)
	want := []string{
		"machine one -> two", "kernel 6.9 -> 6.1", "CPU EPYC -> Xeon", "number of CPUs 2 -> 4",
		"clock source tsc -> hpet", "wires user-space -> netem",
		"default congestion control cubic -> bbr", "IPv6 yes -> no", "user namespace no -> yes",
		"hosts' MTU of l2 1500 -> 1450",
	}
	if lines := differing("two", other); !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
	for _, unknown := range []string{"", "{", `{"lab":{"cpus":"x"}}`, `{"lab":{}}`} {
		if lines := differing("", unknown); len(lines) != 0 {
			t.Errorf("%s: %q", unknown, lines)
		}
	}
}

// TestEnvironment: the header names what figures depend on, and the limits of a lab, with offload only if a workload
// streams.
func TestEnvironment(t *testing.T) {
	e := givenExperiment()
	of := func(hosts string) *Environment { return Of(Run{Experiment: e, Hosts: []byte(hosts)}) }
	env := of(hostsBefore)
	if env == nil || env.String() != "A lab on one machine: Linux 6.9, 2 CPUs (EPYC), TCP cubic "+
		"by default" || len(env.Limits) != 1 {
		t.Fatalf("%+v", env)
	}
	e.Workloads = append(e.Workloads, experiment.Workload{Name: "bulk", Mode: experiment.Stream,
		Protocol: experiment.TCP})
	e.Arms[0].Lab = &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Wire}}}
	env = of(hostsBefore)
	if len(env.Limits) != 2 || !strings.Contains(env.Limits[1], "is hidden in bulk.") ||
		!strings.HasSuffix(env.String(), "wires: user-space") {
		t.Errorf("%+v", env)
	}
	if env := of(""); env != nil {
		t.Errorf("%+v", env)
	}
}

// The limit of labs is said of those arms that are labs.
func TestLabArms(t *testing.T) {
	lab := experiment.Arm{Name: "l2", Lab: &experiment.Lab{}}
	hosts := experiment.Arm{Name: "far", Client: "a", Server: "b"}
	for want, arms := range map[string][]experiment.Arm{
		"Client and server":       {lab, lab},
		"Client and server of l2": {lab, hosts},
	} {
		if got := labArms(&experiment.Experiment{Arms: arms}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
