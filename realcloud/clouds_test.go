package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Everything that a user lacks is named at once, before anything is asked or made.
func TestMissing(t *testing.T) {
	programs := t.TempDir()
	t.Setenv("PATH", programs)
	for _, c := range clouds() {
		for _, l := range c.labs {
			for _, name := range slices.Concat(c.needs, l.needs) {
				t.Setenv(name, "")
			}
			err := missing(t.Context(), c, l)
			var refused *refusedError
			if !errors.As(err, &refused) {
				t.Fatalf("%s: %v", l.name, err)
			}
			wanted := slices.Concat([]string{"install OpenTofu", "install " + c.program}, c.needs, l.needs)
			for _, want := range wanted {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", l.name, err, want)
				}
			}
		}
	}
	c, l, err := find("azure", "")
	if err != nil || l.name != "azure-zones" {
		t.Fatalf("the first lab of Azure is %s (%v)", l.name, err)
	}
	setVariables(t, c, l)
	for _, name := range []string{"tofu", "ssh", "az"} {
		text := "#!/bin/sh\n"
		if name == "az" {
			text += "echo 'Please run az login' >&2\nexit 1\n"
		}
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := missing(t.Context(), c, l); err == nil || !strings.Contains(err.Error(), "log in with az login") {
		t.Errorf("without a login: %v", err)
	}
	if err := os.WriteFile(filepath.Join(programs, "az"), []byte("#!/bin/sh\necho '{}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := missing(t.Context(), c, l); err != nil {
		t.Errorf("nothing is missing: %v", err)
	}
}

// Unknown providers and labs, and a test without a limit, are refused.
func TestOptions(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-provider", "azure"}, {"-limit", "5"}, {"-provider", "oracle", "-limit", "5"},
		{"-provider", "aws", "-limit", "-1"}, {"-provider", "aws", "-limit", "NaN"},
		{"-provider", "aws", "-limit", "+Inf"},
		{"-provider", "aws", "-limit", "5", "-price", "-1"}, {"-provider", "aws", "-limit", "5", "-lab", "azure-ppg"},
		{"-provider", "aws", "-limit", "5", "-time", "10m"}, {"-provider", "aws", "-limit", "5", "more"},
	} {
		var out strings.Builder
		if code := start(args, &out); code != exitRefused {
			t.Errorf("%q: exit code %d\n%s", args, code, out.String())
		}
	}
}

// The command that writes a kubeconfig has what the module says of its cluster.
func TestKubeconfig(t *testing.T) {
	var o outputs
	const state = `{"cluster": {"value": {"resource_group": "g", "name": "c"}}, "region": {"value": "eu-west-1"}}`
	if err := json.Unmarshal([]byte(state), &o); err != nil {
		t.Fatal(err)
	}
	_, aks, err := find("azure", "aks-accelerated-networking")
	if err != nil {
		t.Fatal(err)
	}
	const want = "az aks get-credentials --resource-group g --name c --file k --only-show-errors"
	if got := strings.Join(aks.kubeconfig(o, "k"), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := o.text("region"); got != "eu-west-1" {
		t.Errorf("the region is %q", got)
	}
	if got := o.text("region", "x") + o.text("none"); got != "" {
		t.Errorf("an output that is not there is %q", got)
	}
}
