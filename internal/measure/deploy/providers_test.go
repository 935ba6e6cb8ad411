//go:build unix

package deploy

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/hosts/kube"
	"nearfar/internal/onhost/host"
)

// instance is a host whose facts name an instance of EC2. It also claims an answer of its provider.
func instance(t *testing.T, id string) host.Host {
	t.Helper()
	group := "perf"
	text, err := json.Marshal(check.Facts{
		OS:       "linux",
		Where:    &check.Where{Cloud: check.CloudAWS, Region: "us-west-2", InstanceID: id, PlacementGroup: &group},
		Provider: &check.Provider{Strategy: "cluster", State: "available", NetworkNodes: []string{"a", "b", "mine"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fake.New(id, map[string]fake.Program{
		host.Self: func(_ context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
			_, _ = stdout.Write(text)
			return 0
		},
	})
}

// TestProvidersAreAsked: the facts of a run get the provider's answer if the file asks for it, and none otherwise. What
// a host says about its provider does not count.
func TestProvidersAreAsked(t *testing.T) {
	folder := t.TempDir()
	script := `#!/bin/sh
case "$2 $6" in
"describe-instance-topology i-11111111") echo '{"Instances": [{"InstanceId": "i-11111111", "NetworkNodes": ["a", "b"]}]}';;
"describe-instance-topology i-22222222") echo 'An error occurred (InvalidInstanceID.NotFound)' >&2; exit 254;;
*) echo '{"PlacementGroups": [{"GroupName": "perf", "State": "available", "Strategy": "spread"}]}';;
esac
`
	if err := os.WriteFile(filepath.Join(folder, "aws"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, clouds := range [][]string{nil, {check.CloudAzure}, {check.CloudAzure, check.CloudAWS}} {
		e := &experiment.Experiment{Arms: []experiment.Arm{{Name: "a", Client: "c", Server: "s"}}, AskProviders: clouds}
		var steps []string
		d := &Deployment{
			experiment: e,
			hosts: map[string]host.Hosts{
				"a": {Client: instance(t, "i-11111111"), Server: instance(t, "i-22222222")},
			},
			step: func(format string, _ ...any) { steps = append(steps, format) },
		}
		sides := d.ReadFacts(t.Context(), 1)["a"]
		client, server := sides.Client.Provider, sides.Server.Provider
		if len(clouds) < 2 {
			if client != nil || server != nil || len(steps) > 0 {
				t.Errorf("%v: got %+v and %+v (%q)", clouds, client, server, steps)
			}
			continue
		}
		if len(steps) != 1 || client == nil || len(client.NetworkNodes) != 2 || client.Strategy != "spread" ||
			client.Problem != "" {
			t.Errorf("the client: %+v (%q)", client, steps)
		}
		if server == nil || server.NetworkNodes != nil || !strings.Contains(server.Problem, "InvalidInstanceID") {
			t.Errorf("the server: %+v", server)
		}
		if kept := d.facts.kept; len(kept) != 2 || kept[0].Facts.Provider == nil || kept[1].Facts.Provider == nil {
			t.Errorf("kept %+v", kept)
		}
		j := check.Judge(check.Expectation{Name: check.ExpectCompactPlacement, Value: true}, check.Trial{
			Client: check.Side{Facts: sides.Client}, Server: check.Side{Facts: sides.Server},
		})
		if j.Outcome != check.Unknown || !strings.Contains(j.Evidence, "InvalidInstanceID") {
			t.Errorf("got %+v", j)
		}
	}
}

// TestScaleSetOfANode: Azure is asked about the pool of nodes of a pod that reaches no metadata service. Its answer is
// in the facts, and proves nothing about the guest.
func TestScaleSetOfANode(t *testing.T) {
	folder := t.TempDir()
	const set = "/subscriptions/8d10da13-0000-0000-0000-000000000001/resourceGroups/mc_shop/providers/" +
		"Microsoft.Compute/virtualMachineScaleSets/aks-win2-vmss"
	script := `#!/bin/sh
case "$*" in
"vmss show"*"--name aks-win2-vmss "*) ;;
*) exit 2;;
esac
echo '{"id": "` + set + `", "virtualMachineProfile": {"networkProfile": {"networkInterfaceConfigurations": [
  {"name": "a", "enableAcceleratedNetworking": true}, {"name": "b", "enableAcceleratedNetworking": false}]}}}'
`
	if err := os.WriteFile(filepath.Join(folder, "az"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	pod := func(name string) host.Host {
		return fake.New(name, map[string]fake.Program{
			host.Self: func(_ context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
				_, _ = io.WriteString(stdout, `{"os": "windows"}`)
				return 0
			},
		})
	}
	d := &Deployment{
		experiment: &experiment.Experiment{
			Arms: []experiment.Arm{{Name: "a"}}, AskProviders: []string{check.CloudAzure},
		},
		hosts: map[string]host.Hosts{"a": {Client: pod("a/client"), Server: pod("a/server")}},
		kinds: []kind{&pods{facts: map[string]kube.PodFacts{
			"a/client": {ProviderID: "azure://" + set + "/virtualMachines/0"},
			"a/server": {ProviderID: "kind://docker/nearfar/two"},
		}}},
		step: func(string, ...any) {},
	}
	sides := d.ReadFacts(t.Context(), 1)["a"]
	client := sides.Client.Provider
	if client == nil || client.Accelerated == nil || *client.Accelerated ||
		client.Configured != "scale set aks-win2-vmss" || client.Problem != "" {
		t.Errorf("the client: %+v", client)
	}
	if sides.Server.Provider != nil {
		t.Errorf("the server: %+v", sides.Server.Provider)
	}
	j := check.Judge(check.Expectation{Name: check.ExpectAccelerated, Value: false}, check.Trial{
		Client: check.Side{Facts: sides.Client}, Server: check.Side{Facts: sides.Server},
	})
	if j.Outcome != check.Unknown || !strings.Contains(j.Evidence, "off for the scale set aks-win2-vmss") {
		t.Errorf("got %+v", j)
	}
}
