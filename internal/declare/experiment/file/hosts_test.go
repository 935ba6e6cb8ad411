package file

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

func variables(values map[string]string) Inputs {
	return Inputs{Variable: func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}}
}

func parsed(t *testing.T, text string, in Inputs) *experiment.Experiment {
	t.Helper()
	e, err := ParseWith("x.yaml", []byte(text), testTools, in)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A value is part of its scalar: it brings no structure, but a number without quotes stays a number.
func TestVariablesAreScalars(t *testing.T) {
	for value, want := range map[string]string{
		"12": "!!int", "1.5": "!!float", "true": "!!bool", "vm-a": "!!str", "{a: b}": "!!str", "[a]": "!!str",
		"a: b": "!!str", "- a": "!!str", "# x": "!!str", "a # b": "!!str", "*a": "!!str", "&a b": "!!str", "!!int 5": "!!str",
		`"x"`: "!!str", "|": "!!str", "---": "!!str", "%x": "!!str", "<<": "!!merge", "~": "!!null", " x ": "!!str",
	} {
		if got := plainTag(value); got != want {
			t.Errorf("%q: tag %s, want %s", value, got, want)
		}
	}
	r := newReader("x", nil, testTools, variables(map[string]string{"A": "{b: ${B}}", "B": "5"}))
	for text, want := range map[string]string{
		"${A}": "{b: ${B}}", "${B}${B}": "55", "x${B}y": "x5y", "$${B}": "${B}", "$$${B}": "$${B}", "$B ${B}$": "$B 5$",
		"$": "$", "": "", "a$b": "a$b",
	} {
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
		if r.expandScalar(n); n.Value != want {
			t.Errorf("%q becomes %q, want %q", text, n.Value, want)
		}
	}
	if len(r.mistakes) > 0 {
		t.Error(r.mistakes)
	}
}

func TestJoinStringsAreCovered(t *testing.T) {
	for text, want := range map[string]string{
		"x: {agent: nearfar-agent.1.aB-_9}": "x: {agent: nearfar-agent.*******}", "nearfar-agent.": "nearfar-agent.",
		"nearfar-agent.x nearfar-agent.yy!": "nearfar-agent.* nearfar-agent.**!", "": "", "nearfar-agents": "nearfar-agents",
	} {
		if got := withoutJoins(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

const agentFile = `nearfar: v1
name: x
hosts:
  w: {agent: "${WIN_JOIN}"}
  v: {agent: nearfar-agent.1.CANARY-literal}
  a: {ssh: vm-a}
arms: {one: {client: a, server: w}, two: {client: v, server: w}}
workloads: [{name: rr, tool: native}]
`

// A recorded experiment has no join string. It gets them back from the variable or from a hosts file.
func TestRejoin(t *testing.T) {
	const win, literal = "nearfar-agent.1.CANARY-win", "nearfar-agent.1.CANARY-literal"
	set := variables(map[string]string{"WIN_JOIN": win})
	e := parsed(t, agentFile, set)
	if w, _ := e.Host("w"); w.Agent != win || w.AgentFrom != "${WIN_JOIN}" || w.Kind() != experiment.HostAgent {
		t.Errorf("host w has %q from %q", w.Agent, w.AgentFrom)
	}
	if v, _ := e.Host("v"); v.Agent != literal || v.AgentFrom != experiment.HiddenJoin {
		t.Errorf("host v has %q from %q", v.Agent, v.AgentFrom)
	}
	record, err := json.Marshal(e)
	if err != nil || strings.Contains(string(record), canaryJoin) {
		t.Fatalf("recorded (%v): %s", err, record)
	}
	recorded := func() *experiment.Experiment {
		var again experiment.Experiment
		if err := json.Unmarshal(record, &again); err != nil {
			t.Fatal(err)
		}
		if err := again.CheckRunnable(testTools); err != nil {
			t.Fatal(err)
		}
		return &again
	}
	err = Rejoin(recorded(), testTools, Inputs{})
	for _, says := range []string{"host w: variable WIN_JOIN is not set", "the join string of host v is not recorded: " +
		"give it with --hosts FILE"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want it to say %q", err, says)
		}
	}
	set.HostsName, set.Hosts = "h.yaml", []byte("hosts: {v: {agent: nearfar-agent.1.CANARY-new}, a: {ssh: other, port: 7000}, z: {}}")
	again := recorded()
	if err := Rejoin(again, testTools, set); err != nil {
		t.Fatal(err)
	}
	if again.Hosts[0].Agent != win || again.Hosts[1].Agent != "nearfar-agent.1.CANARY-new" || again.Hosts[2].SSH != "vm-a" {
		t.Errorf("%#v", again.Hosts)
	}
	for text, says := range map[string]string{
		"hosts: {v: {ssh: vm-v}}":                             "host v is reached by its agent in the run, and by ssh in h.yaml",
		"hosts: {v: {agent: \"nearfar-agent.1.CANARY x\"}}":   "h.yaml:1:20: agent: this is not a join string",
		"hosts: {v: {agent: \"${NO}\"}}":                      "h.yaml:1:21: variable NO is not set",
		"hosts: {v: {agent: \"x${WIN_JOIN}\"}}":               "h.yaml:1:20: agent: this is not a join string",
		"hosts: [v]":                                          "h.yaml:1:8: hosts must be a mapping",
		"vm-v: {agent: nearfar-agent.1.CANARY-other}":         `h.yaml:1:1: unknown key "vm-v" in a file of hosts`,
		"hosts: {v: {agent: nearfar-agent.1.CANARY-a, b: 1}}": `unknown key "b" in host "v"`,
	} {
		set.Hosts = []byte(text)
		err := Rejoin(recorded(), testTools, set)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), canaryJoin) {
			t.Errorf("%s: error %v, want it to say %q, and no join string", text, err, says)
		}
	}
	set = variables(map[string]string{"WIN_JOIN": "CANARY x"})
	if err := Rejoin(recorded(), testTools, set); err == nil || strings.Contains(err.Error(), canaryJoin) ||
		!strings.Contains(err.Error(), "host w: variable WIN_JOIN: this is not a join string") {
		t.Errorf("error %v", err)
	}
}

func TestHostsOfArms(t *testing.T) {
	e := parsed(t, `nearfar: v1
name: x
hosts: {a: {ssh: vm-a}, b: {ssh: vm-b}, c: {ssh: vm-c}}
arms:
  near: {client: a, server: b}
  again: {client: a, server: b}
  back: {client: b, server: a}
  far: {client: a, server: c}
  far-bbr: {client: a, server: c, set: {rr: {congestion: bbr}}}
workloads: [{name: rr, tool: native}, {name: ping, tool: ping}]
`, Inputs{})
	for arm, want := range map[string]string{"near": "near", "again": "near", "back": "back", "far": "far", "far-bbr": "far"} {
		if got := e.HostsOf(arm); got != want {
			t.Errorf("hosts of %s: %s, want %s", arm, got, want)
		}
	}
	// Differences between hosts are no cost of the values that an arm sets.
	none := map[string]int{}
	want := []map[string]int{none, none, {"hosts=b/a": 1}, {"hosts=a/c": 1}, {"hosts=a/c": 1, "congestion=bbr": 1}}
	if diff := cmp.Diff(want, e.LayersIn("rr")); diff != "" {
		t.Errorf("layers of rr (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]map[string]int{none, none, none, none, none}, e.LayersIn("ping")); diff != "" {
		t.Errorf("layers of ping, where no arm has any (-want +got):\n%s", diff)
	}
	for _, w := range e.Workloads {
		if w.Placement.Kind != experiment.PlacementSplit {
			t.Errorf("placement of %s: %s, want split", w.Name, w.Placement)
		}
	}
}

// Experiments from run directories are not trusted: their hosts are checked as those of files.
func TestRecordedHostsAreChecked(t *testing.T) {
	good := func() *experiment.Experiment {
		return parsed(t, agentFile, variables(map[string]string{"WIN_JOIN": "nearfar-agent.1.x"}))
	}
	if err := good().CheckRunnable(testTools); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(e *experiment.Experiment){
		"too many hosts": func(e *experiment.Experiment) {
			e.Hosts = make([]experiment.HostSpec, experiment.MaxHosts+1)
		},
		"a host twice":      func(e *experiment.Experiment) { e.Hosts[0].Name = "a" },
		"a long text":       func(e *experiment.Experiment) { e.Hosts[2].SSH = strings.Repeat("v", 4097) },
		"a host of no name": func(e *experiment.Experiment) { e.Hosts[2].Name, e.Arms[0].Client = "x y", "x y" },
		"an unknown client": func(e *experiment.Experiment) { e.Arms[0].Client = "z" },
		"a server alone":    func(e *experiment.Experiment) { e.Arms[0].Client = "" },
		"a lab too": func(e *experiment.Experiment) {
			e.Arms[0].Lab = &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Bridge}}, MTU: 1500}
		},
		"no kind":            func(e *experiment.Experiment) { e.Hosts[2].SSH = "" },
		"two kinds":          func(e *experiment.Experiment) { e.Hosts[2].Local = true },
		"an option of ssh":   func(e *experiment.Experiment) { e.Hosts[2].SSH = "-oProxyCommand=x" },
		"no variable":        func(e *experiment.Experiment) { e.Hosts[0].AgentFrom = "nearfar-agent.1.x" },
		"a bad address":      func(e *experiment.Experiment) { e.Hosts[2].Address = "vm-a" },
		"a bad IPv6 address": func(e *experiment.Experiment) { e.Hosts[2].Address6 = "10.0.0.1" },
		"a bad bind":         func(e *experiment.Experiment) { e.Hosts[2].Bind = "*" },
		"a bad port":         func(e *experiment.Experiment) { e.Hosts[2].Port = 22 },
		"a bad folder":       func(e *experiment.Experiment) { e.Hosts[2].Folder = "x" },
		"a folder of agents": func(e *experiment.Experiment) { e.Hosts[0].Folder = "/x" },
		"sudo of agents":     func(e *experiment.Experiment) { e.Hosts[0].Sudo = true },
		"a bad silence":      func(e *experiment.Experiment) { e.Hosts[2].Silence = -1 },
		"a bad program":      func(e *experiment.Experiment) { e.Hosts[2].Tools = map[string]string{"sh": "/bin/sh"} },
		"a bad path":         func(e *experiment.Experiment) { e.Hosts[2].Tools = map[string]string{"iperf3": "iperf3"} },
	} {
		e := good()
		if change(e); e.CheckRunnable(testTools) == nil {
			t.Errorf("%s is accepted: %s", name, fmt.Sprint(e.Hosts))
		}
	}
}
