package deploy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/result"
)

// Machines of earlier deployments are found under any name: by their instance id, or else by their boot id.
func TestMachinesOfEarlierDeploymentsAreFound(t *testing.T) {
	made := func(n int, machines map[string]MachineID, variables ...string) MadeMachines {
		return MadeMachines{Deployment: n, Made: "x", Machines: machines, Variables: variables}
	}
	pair := func(a, b MachineID) map[string]MachineID { return map[string]MachineID{"a": a, "b": b} }
	for _, c := range []struct {
		name  string
		all   []MadeMachines
		codes []string
		says  string
	}{
		{"others", []MadeMachines{
			made(1, pair(MachineID{"i-1", "k1"}, MachineID{"i-2", "k2"})),
			made(2, pair(MachineID{"i-3", "k3"}, MachineID{"i-4", "k4"})),
		}, nil, ""},
		{"the same after a restart", []MadeMachines{
			made(1, pair(MachineID{"i-1", "k1"}, MachineID{"i-2", "k2"})),
			made(2, pair(MachineID{"i-3", "k3"}, MachineID{"i-1", "k4"})),
		}, []string{"same-machines"}, "b is a of deployment 1"},
		{"the same boot", []MadeMachines{
			made(1, pair(MachineID{"", "k1"}, MachineID{"", "k2"})),
			made(2, pair(MachineID{"", "k3"}, MachineID{"", "k4"})),
			made(3, pair(MachineID{"", "k5"}, MachineID{"", "k4"})),
		}, []string{"same-machines"}, "b is b of deployment 2"},
		{"one boot on two instances", []MadeMachines{
			made(1, pair(MachineID{"i-1", "k1"}, MachineID{"i-2", "k1"})),
			made(2, pair(MachineID{"i-3", "k1"}, MachineID{"i-4", "k1"})),
		}, nil, ""},
		{"unknown", []MadeMachines{
			made(1, pair(MachineID{"i-1", "k1"}, MachineID{"i-2", "k2"})),
			made(2, pair(MachineID{}, MachineID{"i-4", "k4"})),
		}, []string{"machines-unknown"}, "known of a"},
		{"other variables", []MadeMachines{
			made(1, pair(MachineID{"i-1", ""}, MachineID{"i-2", ""})),
			made(2, pair(MachineID{"i-3", ""}, MachineID{"i-4", ""}), "size=large"),
		}, []string{"deployments-made-differently"}, "with size=large, deployment 1 with the file's variables"},
		{"none", nil, nil, ""},
	} {
		data, err := json.Marshal(Record{Deployments: c.all})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		var texts string
		for _, w := range Warnings(data, nil) {
			codes, texts = append(codes, w.Code), texts+w.Message
		}
		if !slices.Equal(codes, c.codes) || !strings.Contains(texts, c.says) {
			t.Errorf("%s: %q %q, want %q with %q", c.name, codes, texts, c.codes, c.says)
		}
		last, ok := LastMade(data)
		if ok != (len(c.all) > 0) || ok && last.Deployment != len(c.all) {
			t.Errorf("%s: the last is %+v", c.name, last)
		}
	}
	var none []result.Warning
	if got := redeployedWarnings(nil); !slices.Equal(got, none) {
		t.Errorf("%+v", got)
	}
}
