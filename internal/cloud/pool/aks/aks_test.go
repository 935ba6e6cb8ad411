package aks

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/cloud/pool"
)

func TestCheckName(t *testing.T) {
	for _, w := range []struct {
		name, os string
		good     bool
	}{
		{"linpool", "Linux", true}, {"a", "Linux", true}, {"abcdefghijkl", "Linux", true},
		{"abcdefghijklm", "Linux", false}, {"winpol", "Windows", true}, {"winpool", "Windows", false},
		{"2pool", "Linux", false}, {"Pool", "Linux", false}, {"lin-pool", "Linux", false}, {"", "Linux", false},
		{"-o", "Linux", false}, {"pö", "Linux", false},
	} {
		if err := CheckName(w.name, w.os); (err == nil) != w.good {
			t.Errorf("%q on %s: %v", w.name, w.os, err)
		}
	}
}

func TestNextName(t *testing.T) {
	for _, w := range []struct{ old, os, taken, want string }{
		{"linpool", "Linux", "", "linpool2"}, {"linpool2", "Linux", "", "linpool3"},
		{"linpool9", "Linux", "", "linpool10"},
		{"linpool", "Linux", "linpool2", "linpool3"}, {"abcdefghijkl", "Linux", "", "abcdefghijk2"},
		{"winpol", "Windows", "", "winpo2"}, {"win999", "Windows", "", "wi1000"}, {"a123456789", "Linux", "", "a2"},
	} {
		got, err := NextName(w.old, w.os, func(name string) bool { return name == w.taken })
		if err != nil || got != w.want || CheckName(got, w.os) != nil {
			t.Errorf("after %s comes %s (%v), want %s", w.old, got, err, w.want)
		}
	}
	if name, err := NextName("linpool", "Linux", func(string) bool { return true }); err == nil {
		t.Errorf("all names are taken, and the next one is %s", name)
	}
}

func recorded(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/list.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fake is an az that prints the recorded list, and notes its other arguments.
func fake(t *testing.T) (*Provider, *[]string) {
	t.Helper()
	var calls []string
	list := recorded(t)
	return &Provider{
		Cluster: Cluster{ResourceGroup: "shop", Name: "shop", Subscription: "0-1"},
		Az: func(_ context.Context, args ...string) ([]byte, error) {
			line := strings.Join(args, " ")
			if line == "aks nodepool list --resource-group shop --cluster-name shop --subscription 0-1" {
				return list, nil
			}
			calls = append(calls, line)
			return nil, nil
		},
	}, &calls
}

// The new pool gets all settings that a migration takes over, and the plan names the settings that it does not take
// over.
func TestPlan(t *testing.T) {
	p, calls := fake(t)
	old, differences, err := p.Plan(t.Context(), "linpool", "", "Standard_D4s_v5")
	if err != nil || old.Count != 3 {
		t.Fatal(old, err)
	}
	want := []string{`kubeletConfig: {"cpuManagerPolicy":"static"}`}
	if diff := cmp.Diff(want, differences); diff != "" {
		t.Error(diff)
	}
	if err := p.Add(t.Context(), "abc"); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), "linpool"); err != nil {
		t.Fatal(err)
	}
	want = []string{
		"aks nodepool add --resource-group shop --cluster-name shop --subscription 0-1 --name linpool2 --no-wait " +
			"--node-count 3 --kubernetes-version 1.33.2 --enable-cluster-autoscaler --min-count 2 --max-count 5 " +
			"--max-pods 50 --node-vm-size Standard_D4s_v5 --os-type Linux --os-sku Ubuntu --mode User --zones 1 2 " +
			"--vnet-subnet-id /subscriptions/0-1/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/" +
			"subnets/aks --node-taints web=yes:NoSchedule --labels tier=web --node-osdisk-size 128 " +
			"--node-osdisk-type Ephemeral --max-surge 10% --tags nearfar-migration=abc team=shop",
		"aks nodepool delete --resource-group shop --cluster-name shop --subscription 0-1 --name linpool --no-wait",
	}
	if diff := cmp.Diff(want, *calls); diff != "" {
		t.Error(diff)
	}
	for _, w := range []struct{ old, name, want string }{
		{"winpol", "", "pool winpol is Creating"}, {"other", "", "no such node pool"},
		{"linpool", "winpol", "pool winpol exists"}, {"linpool", "Big", "cannot have the name"},
	} {
		if _, _, err := p.Plan(t.Context(), w.old, w.name, ""); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("from %s to %q: %v, want %q", w.old, w.name, err, w.want)
		}
	}
}

// A pool that was made without any setting, as az shows it in 2026, differs in nothing from the next one. The names and
// values of its settings are those that others have published, for example in
// https://learn.microsoft.com/azure/aks/upgrade-options (upgradeSettings), or that az prints for a new pool. Other
// values of the same settings are differences.
func TestDefaultsAreNoDifferences(t *testing.T) {
	data, err := os.ReadFile("testdata/current.json")
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[[2]string]map[string]string{
		{}:                            {},
		{`"LocalUser"`, `"Disabled"`}: {"securityProfile": `{"sshAccess":"Disabled"}`},
		{`"enableVtpm": false`, `"enableVtpm": true`}:                          {"securityProfile": `{"enableVtpm":true}`},
		{`"maxUnavailable": "0"`, `"maxUnavailable": "1"`}:                     {"upgradeSettings": `{"maxUnavailable":"1"}`},
		{`"Schedule"`, `"Cordon"`}:                                             {"upgradeSettings": `{"undrainableNodeBehavior":"Cordon"}`},
		{`"driver": "Install"`, `"driver": "None"`}:                            {"gpuProfile": `{"driver":"None"}`},
		{`"workloadRuntime": "OCIContainer"`, `"workloadRuntime": "WasmWasi"`}: {"workloadRuntime": `"WasmWasi"`},
	} {
		pools, err := ParseList([]byte(strings.Replace(string(data), change[0], change[1], 1)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pools[0].Rest); diff != "" {
			t.Errorf("%q: %s", change, diff)
		}
	}
}

func TestStatus(t *testing.T) {
	p, _ := fake(t)
	for name, want := range map[string]pool.Status{
		"linpool": {Phase: pool.Ready, Detail: "Succeeded", Nodes: 3},
		"winpol":  {Phase: pool.Changing, Detail: "Creating", Nodes: 2},
		"other":   {Phase: pool.Absent, Detail: "absent"},
	} {
		if got, err := p.Status(t.Context(), name); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", name, got, err, want)
		}
	}
	p.Az = func(context.Context, ...string) ([]byte, error) { return nil, errors.New("no login") }
	if got, err := p.Status(t.Context(), "linpool"); err == nil {
		t.Errorf("without a login: %+v", got)
	}
}

// A hostile list has no values that az would take for flags or files.
func TestHostileValues(t *testing.T) {
	for _, value := range []string{"--debug", "@/etc/passwd", "a\nb", strings.Repeat("x", 2000)} {
		for _, p := range []*NodePool{
			{VMSize: value}, {Subnet: value}, {Zones: []string{value}}, {Taints: []string{value}},
			{Tags: map[string]string{value: "x"}}, {Labels: map[string]string{value: "x"}},
		} {
			if args, err := p.AddArgs(""); err == nil {
				t.Errorf("%.20q is given to az: %.200q", value, args)
			}
		}
	}
	for _, text := range []string{
		`{}`, `[{"name": "Big"}]`, `[{"name": "a"}, {"name": "a"}]`, `[{"name": "a", "count": -1}]`,
		`[{"name": "a", "count": "3"}]`,
		`[{"name": "a", "osType": "BeOS"}]`, `[{"name": "a", "properties": 3}]`, `[3]`, `[] []`, "",
		"[" + strings.Repeat(`{"name":"a"},`, 2000) + `{"name":"b"}]`,
	} {
		if pools, err := ParseList([]byte(text)); err == nil {
			t.Errorf("%.60q is read as %+v", text, pools)
		}
	}
}

func TestScaleSet(t *testing.T) {
	const id = "azure:///subscriptions/0-1/resourceGroups/mc_shop/providers/Microsoft.Compute/" +
		"virtualMachineScaleSets/aks-linpool2-1-vmss/virtualMachines/3"
	answer := func(interfaces string) string {
		return `{"virtualMachineProfile": {"networkProfile": {"networkInterfaceConfigurations": [` + interfaces + `]}}}`
	}
	for _, w := range []struct{ id, printed, want string }{
		{id, answer(`{"name": "a", "enableAcceleratedNetworking": true}`), pool.On},
		{id, answer(`{"enableAcceleratedNetworking": true}, {"enableAcceleratedNetworking": false}`), pool.Off},
		{id, answer(`{"name": "a"}`), pool.Unknown}, {id, answer(""), pool.Unknown}, {id, "x", pool.Unknown},
		{"aws:///eu/i-1", answer(`{"enableAcceleratedNetworking": true}`), pool.Unknown},
		{strings.Replace(id, "mc_shop", "--debug/x", 1), answer(`{"enableAcceleratedNetworking": true}`), pool.Unknown},
	} {
		var asked []string
		p := &Provider{Az: func(_ context.Context, args ...string) ([]byte, error) {
			asked = args
			return []byte(w.printed), nil
		}}
		f := p.ScaleSet(t.Context(), w.id)
		if f.On != w.want || f.Evidence == "" {
			t.Errorf("%s with %s: %+v, want %s", w.id, w.printed, f, w.want)
		}
		want := strings.Fields("vmss show --subscription 0-1 --resource-group mc_shop --name aks-linpool2-1-vmss")
		if w.id == id && !slices.Equal(asked, want) {
			t.Errorf("az was asked %q", asked)
		}
	}
}

// FuzzParseList: the list is read or refused, whatever az prints. A list that was read gives a command line or an
// error.
func FuzzParseList(f *testing.F) {
	f.Add(recorded(f))
	f.Add([]byte(`[{"name": "a", "nodeTaints": ["-x"], "upgradeSettings": {"maxSurge": "1", "x": {"y": null}}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		pools, err := ParseList(data)
		if err != nil {
			return
		}
		for _, p := range pools {
			args, err := p.AddArgs("")
			if err != nil {
				continue
			}
			for i, a := range args {
				if strings.HasPrefix(a, "-") && !slices.Contains(flags(), a) {
					t.Errorf("argument %d is %q", i, a)
				}
			}
		}
	})
}

// flags are the flags that may be given to az.
func flags() []string {
	return strings.Fields("--node-count --kubernetes-version --enable-cluster-autoscaler --min-count --max-count " +
		"--max-pods --node-vm-size --os-type --os-sku --mode --zones --vnet-subnet-id --pod-subnet-id --node-taints " +
		"--labels --node-osdisk-size --node-osdisk-type --priority --eviction-policy --spot-max-price --enable-node-public-ip " +
		"--enable-encryption-at-host --enable-fips-image --enable-ultra-ssd --ppg --host-group-id --max-surge --tags")
}

// FuzzScaleSet: whatever az prints, the answer is one of three.
func FuzzScaleSet(f *testing.F) {
	f.Add([]byte(`{"virtualMachineProfile": {"networkProfile": {"networkInterfaceConfigurations": [{}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if on, evidence := readScaleSet(data); !slices.Contains([]string{pool.On, pool.Off, pool.Unknown}, on) ||
			evidence == "" {
			t.Errorf("%q: %q", on, evidence)
		}
	})
}
