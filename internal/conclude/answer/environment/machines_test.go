package environment

import (
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const givenBefore = `{"machines":{
"a":{"system":{"OS":"linux","Arch":"amd64"},"hostname":"vm1","release":{"PRETTY_NAME":"Ubuntu 24.04"},"kernel":"6.9","model":"EPYC","cpus":[{},{}],"boot_id":"1","clock_source":"tsc"},
"b":{"system":{"OS":"linux","Arch":"amd64"},"hostname":"vm2","release":{"PRETTY_NAME":"Ubuntu 24.04"},"kernel":"6.9","model":"EPYC","cpus":[{},{}],"boot_id":"2","clock_source":"tsc"},
"c":{"system":{"OS":"linux","Arch":"amd64"},"hostname":"vm3","release":{"PRETTY_NAME":"Ubuntu 24.04"},"kernel":"6.9","model":"EPYC","cpus":[{},{}],"boot_id":"3","clock_source":"tsc"}},
"sides":{"near":{"client":"a","server":"b"},"far":{"client":"a","server":"c"}}}`

func givenExperiment() *experiment.Experiment {
	return &experiment.Experiment{Name: "overlay", Baseline: "near",
		Arms:      []experiment.Arm{{Name: "near", Client: "a", Server: "b"}, {Name: "far", Client: "a", Server: "c"}},
		Workloads: []experiment.Workload{{Name: "rr", Tool: "native"}}}
}

// Machines that are alike are described once. Only hosts on one machine have the limit of one.
func TestMachines(t *testing.T) {
	text := func(hosts string) (string, []string) {
		env := Of(Run{Experiment: givenExperiment(), Hosts: []byte(hosts)})
		if env == nil {
			return "", nil
		}
		if env.Text != env.String() {
			t.Errorf("the text is %q, not %q", env.Text, env)
		}
		return env.Text, env.Limits
	}
	const machine = "Ubuntu 24.04, kernel 6.9, 2 CPUs (EPYC), clock source tsc"
	other := strings.NewReplacer(`"boot_id":"2"`, `"boot_id":"1"`, `"PRETTY_NAME":"Ubuntu 24.04"},"kernel":"6.9"`,
		`"PRETTY_NAME":"Ubuntu 24.04"},"kernel":"6.1"`)
	third := strings.Index(givenBefore, `"c":`)
	for hosts, want := range map[string]struct {
		text   string
		limits int
	}{
		givenBefore: {"Hosts a, b, c, all alike: " + machine, 0},
		givenBefore[:third] + other.Replace(givenBefore[third:]): {"Hosts a, b: " + machine + "; c: " +
			strings.ReplaceAll(machine, "6.9", "6.1"), 0},
		strings.Replace(givenBefore, `"boot_id":"2"`, `"boot_id":"1"`, 1): {"Hosts a, b, c, all alike: " + machine, 1},
		`{"machines":{"a":{"system":{"OS":"windows"}}},"sides":{}}`:       {"Hosts a: Windows", 0},
		`{"machines":{"a":{}}}`: {"Hosts a: nothing is known of it", 0},
		`{"machines":"x"}`:      {"", 0},
		`{}`:                    {"", 0},
		hostsBefore[:len(hostsBefore)-1] + "," + givenBefore[1:]: {"A lab on one machine: Linux 6.9, 2 CPUs (EPYC), " +
			"TCP cubic by default. Hosts a, b, c, all alike: " + machine, 1},
	} {
		got, limits := text(hosts)
		if got != want.text || len(limits) != want.limits {
			t.Errorf("%q, %q; want %q", got, limits, want.text)
		}
	}
	_, limits := text(strings.Replace(givenBefore, `"boot_id":"2"`, `"boot_id":"1"`, 1))
	if !strings.HasPrefix(limits[0], "Client and server of near are on one machine") {
		t.Errorf("%q", limits)
	}
}

// Arms whose machines differ in kernel, CPU or clock source are warned of, but not arms that differ in other facts.
func TestMachinesDiffer(t *testing.T) {
	warned := func(hosts string) []result.Warning {
		in := Run{Experiment: givenExperiment(), Hosts: []byte(hosts)}
		return machinesDiffer(in.Experiment, hostsDiffering(in))
	}
	third := strings.Index(givenBefore, `"c":`)
	change := func(old, new string) string {
		return givenBefore[:third] + strings.Replace(givenBefore[third:], old, new, 1)
	}
	for _, alike := range []string{givenBefore, change("24.04", "22.04"), change(`"kernel":"6.9",`, ""), "", "{}",
		change(`[{},{}]`, "[{}]")} {
		if w := warned(alike); len(w) != 0 {
			t.Errorf("%+v", w)
		}
	}
	w := warned(strings.Replace(change(`"6.9"`, `"6.1"`), `"tsc"}},`, `"hyperv"}},`, 1))
	const want = "the machines differ from those of near, which alone can make a difference: the server's kernel " +
		"6.9 -> 6.1; the server's clock source tsc -> hyperv"
	if len(w) != 1 || w[0].Code != "arms-differ-in-machines" || w[0].Arm != "far" || w[0].Message != want {
		t.Errorf("%+v", w)
	}
}

// Two runs are compared by the facts of each host.
func TestGivenHostsDiffer(t *testing.T) {
	changes := strings.NewReplacer(`"boot_id":"1"`, `"boot_id":"9"`, `"vm1"`, `"vm9"`, `"EPYC"`, `"Xeon"`)
	other := changes.Replace(givenBefore)
	lines := DifferingHosts(HostsOf{"one", []byte(givenBefore)}, HostsOf{"one", []byte(other)}, nil)
	want := []string{"machine of a vm1 -> vm9", "CPU of a EPYC -> Xeon",
		"CPU of b EPYC -> Xeon", "CPU of c EPYC -> Xeon"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}

// The line about the hosts says between which addresses the arms measured. What a record has in place of an address is
// left out, and no arm has more pairs than versions of IP.
func TestAddresses(t *testing.T) {
	const between = `"between":{
"near":[{"client":"10.0.0.1","server":"10.0.0.2"},{"client":"fd00::1","server":"fd00::2"},{"server":"10.9.9.9"}],
"far":[{"client":"x","server":"10.0.0.3"},{"client":"10.0.0.1","server":"\u001b[31m"}]}}`
	env := Of(Run{
		Experiment: givenExperiment(), Hosts: []byte(strings.TrimSuffix(givenBefore, "}") + "," + between),
	})
	if env == nil || len(env.Addresses) != 3 || env.Addresses[2].Client != (HostAddress{Host: "a"}) {
		t.Fatalf("%+v", env)
	}
	const want = ". Measured: near between a (10.0.0.1) and b (10.0.0.2); near between a (fd00::1) and b (fd00::2); " +
		"far between a and c (10.0.0.3)"
	if !strings.HasSuffix(env.Text, want) {
		t.Errorf("%q", env.Text)
	}
}
