package file

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const provisionFile = `nearfar: v1
name: x
hosts: {a: {provisioned: true}, b: {provisioned: true}}
provision:
  tofu: ${FOLDER}
  variables:
    text: ${SECRET}
    number: 2
    truth: true
    quoted: "1.10"
    list: ["1", "${SECRET}", 3, false]
    map: {owner: me, note: 'a $${x} %{if}', "odd key": {on: true, at: []}}
    first: plain
  retry:
    variables: [{first: second, more: 1}, {first: third}]
    attempts: 5
arms: {one: {client: a, server: b}}
workloads: [{name: rr, tool: native}]
`

// Values become the texts that OpenTofu reads from its environment. They are not recorded, except those of retry.
func TestModuleVariables(t *testing.T) {
	in := variables(map[string]string{"FOLDER": "./x", "SECRET": "CANARY ${HOME}"})
	e := parsed(t, provisionFile, in)
	got := map[string]string{}
	for _, v := range e.Provision.Variables {
		got[v.Name] = v.Value
	}
	want := map[string]string{
		"text": "CANARY ${HOME}", "number": "2", "truth": "true", "quoted": "1.10",
		"list":  `["1", "CANARY $${HOME}", 3, false]`,
		"map":   `{"owner": "me", "note": "a $${x} %%{if}", "odd key": {"on": true, "at": []}}`,
		"first": "plain",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	record, err := json.Marshal(e)
	if err != nil || strings.Contains(string(record), "CANARY") || strings.Contains(string(record), "plain") {
		t.Errorf("recorded (%v): %s", err, record)
	}
	if e.Provision.Tofu != "./x" || e.Provision.Retry.Attempts != 5 {
		t.Errorf("%+v", e.Provision)
	}
	for attempt, want := range []string{"plain", "second", "third", "plain", "second"} {
		variables, choice := e.Provision.In(attempt + 1)
		found := ""
		for _, v := range variables {
			if v.Name == "first" {
				found += v.Value
			}
		}
		if found != want || choice != attempt%3 {
			t.Errorf("attempt %d has %s of entry %d, want %s", attempt+1, found, choice, want)
		}
	}
}

// Hosts that a module has made replace those that the file declares.
func TestProvisionedHostsAreReplaced(t *testing.T) {
	in := variables(map[string]string{"FOLDER": "./x", "SECRET": "y"})
	e := parsed(t, provisionFile, in)
	if diff := cmp.Diff([]string{"a", "b"}, e.Provisioned()); diff != "" {
		t.Error(diff)
	}
	in.HostsName = "output"
	in.Hosts = []byte(`{"hosts": {"a": {"ssh": "vm-a"}, "b": {"ssh": "vm-b", "address": "10.0.0.5"}}}`)
	e = parsed(t, provisionFile, in)
	if b, _ := e.Host("b"); len(e.Provisioned()) > 0 || b.SSH != "vm-b" || b.Address != "10.0.0.5" {
		t.Errorf("%v", e.Hosts)
	}
}

// Machines that were made anew replace the earlier ones. Only they can have several deployments, and only if the file
// lists the resources to make anew.
func TestRehost(t *testing.T) {
	const file = `nearfar: v1
name: x
hosts: {a: {provisioned: true}, b: {provisioned: true}}
provision: {tofu: ./tofu, replace: [aws_instance]}
arms: {one: {client: a, server: b}}
workloads: [{name: rr, tool: native}]
schedule: {deployments: 2}
`
	in := Inputs{HostsName: "output", Hosts: []byte(`{"hosts": {"a": {"ssh": "a1"}, "b": {"ssh": "b1"}}}`), Made: true}
	e := parsed(t, file, in)
	if diff := cmp.Diff([]string{"a", "b"}, e.Made()); diff != "" || !e.Redeploys() {
		t.Errorf("%s; redeploys %v", diff, e.Redeploys())
	}
	if err := e.CheckRunnable(testTools); err != nil {
		t.Error(err)
	}
	in.Hosts = []byte(`{"hosts": {"a": {"ssh": "a2", "address": "10.0.0.4"}, "b": {"ssh": "b2"}, "c": {"ssh": "other"}}}`)
	if err := Rehost(e, testTools, in); err != nil {
		t.Fatal(err)
	}
	a, _ := e.Host("a")
	if a.SSH != "a2" || a.Address != "10.0.0.4" || !a.Made || len(e.Hosts) != 2 {
		t.Errorf("%+v", e.Hosts)
	}
	for text, says := range map[string]string{
		`{"hosts": {"a": {"ssh": "a3"}}}`:                          "output has no host b",
		`{"hosts": {"a": {"ssh": "a3"}, "b": {"ssh": "-oProxy"}}}`: "-oProxy",
		`{`: "output",
	} {
		in.Hosts = []byte(text)
		if err := Rehost(e, testTools, in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	if a, _ := e.Host("a"); a.SSH != "a2" {
		t.Errorf("a failed Rehost has changed %+v", a)
	}
	e.Provision.Replace = nil
	if err := e.CheckRunnable(testTools); err == nil {
		t.Error("deployments of machines that nobody makes anew can be run")
	}
	in.Made = false
	if _, err := ParseWith("x.yaml", []byte(file), testTools, in); err == nil {
		t.Error("deployments of the machines of a file of hosts were accepted")
	}
}

// Scripts and apps get lists and mappings as JSON: they know no templates.
func TestVariablesForScripts(t *testing.T) {
	in := variables(map[string]string{"FOLDER": "./x", "SECRET": "a ${b}"})
	for _, key := range []string{"az", "cdk"} {
		e := parsed(t, strings.Replace(provisionFile, "tofu: ", key+": ", 1), in)
		got := map[string]string{}
		for _, v := range e.Provision.Variables {
			got[v.Name] = v.Value
		}
		want := map[string]string{
			"text": "a ${b}", "number": "2", "truth": "true", "quoted": "1.10", "list": `["1", "a ${b}", 3, false]`,
			"map": `{"owner": "me", "note": "a ${x} %{if}", "odd key": {"on": true, "at": []}}`, "first": "plain",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
		if p := e.Provision; p.Tofu != "" || p.Az+p.Cdk != "./x" {
			t.Errorf("%s: %+v", key, p)
		}
	}
}
