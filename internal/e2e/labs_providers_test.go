//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/azuretest"
	"nearfar/internal/kits/cloudtest"
	"nearfar/internal/kits/tofutest"
)

// The real azurerm and the real az, with the strict fake of Azure: up meets a refusal and takes the next size, a second
// up has nothing to do, down leaves nothing, as its audit says, and neither does an up of which every attempt was
// refused.
func TestProvidersLabRefused(t *testing.T) {
	t.Parallel()
	real := tofutest.NewReal(t, "azurerm")
	cloud := azuretest.New(t)
	cloud.Login()
	s := newLabStand(t, "azure-ppg")
	s.variables["SSH_PUBLIC_KEY"] = tofutest.PublicKey
	s.variables["TF_VAR_location"] = azuretest.Location
	paths := strings.Join([]string{cloudtest.Folder(t, "azure"), s.providers.Path()}, string(os.PathListSeparator))
	s.more = slices.Concat(cloud.Env(), cloud.Provider(), real.Env(), []string{"PATH=" + paths})
	path := filepath.Join(s.lab, "linux.yaml")
	s.edit("linux.yaml", "    os: linux\n", "    os: linux\n    location: "+azuretest.Location+"\n")
	left := func() {
		t.Helper()
		if left := cloud.Resources(); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	}
	cloud.Refuse("Standard_D4as_v5", "AllocationFailed")
	up := s.must(0, "up", "--yes", path)
	if said := up.said(); !strings.Contains(said, "refused: AllocationFailed for azurerm_linux_virtual_machine.this") ||
		!strings.Contains(said, "next attempt with size=Standard_D8as_v5") {
		t.Errorf("up says:\n%s", said)
	}
	const nothing = "Nothing to do: everything is there.\n"
	if got := s.must(0, "up", "--dry-run", path).printed(); !strings.Contains(got, nothing) {
		t.Errorf("a second up would do:\n%s", got)
	}
	down := s.must(0, "down", "--provider", "azure:"+azuretest.Subscription, "--audit-wait", "0s", path)
	if !strings.Contains(down.printed(), "nothing has the tag nearfar_run=azure-ppg-linux") {
		t.Errorf("down prints:\n%s\n%s", down.printed(), down.said())
	}
	left()

	cloud.Refuse("Standard_D8as_v5", "AllocationFailed")
	s.edit("linux.yaml", "attempts: 4", "attempts: 2")
	failed := s.must(1, "up", "--yes", path)
	if !strings.Contains(failed.said(), "with size=Standard_D8as_v5: AllocationFailed") {
		t.Errorf("up without any room says:\n%s", failed.said())
	}
	s.must(0, "down", "--audit-wait", "0s", path)
	left()
}

// The real azurerm and the real az, with the strict fake of AKS: a size that the subscription may not use is refused,
// and then a pool for which there is no room; up, repeated when there is room, makes all; a further up has nothing to
// do, and more time costs no machine; az gives the kubeconfig as the README of the lab says; and down leaves nothing,
// also of the group for nodes. If azurerm cannot read the cluster any more, down deletes the group.
func TestProvidersAKSLabRefused(t *testing.T) {
	t.Parallel()
	real := tofutest.NewReal(t, "azurerm")
	cloud := azuretest.New(t)
	cloud.Login()
	const lab, plain = "aks-accelerated-networking", "Standard_A4_v2"
	s := newLabStand(t, lab)
	s.variables["TF_VAR_location"] = azuretest.Location
	paths := strings.Join([]string{cloudtest.Folder(t, "azure"), s.providers.Path()}, string(os.PathListSeparator))
	s.more = slices.Concat(cloud.Env(), cloud.Provider(), real.Env(), []string{"PATH=" + paths})
	path := filepath.Join(s.lab, "experiment.yaml")
	refused := func(code string) {
		t.Helper()
		said := s.must(1, "up", "--yes", path).said()
		if !strings.Contains(said, code+" for azurerm_kubernetes_cluster_node_pool.this") {
			t.Errorf("up says:\n%s", said)
		}
	}
	cloud.Restrict(plain)
	refused("VMSizeNotSupported")
	cloud.Restrict()
	cloud.Refuse(plain, "OverconstrainedAllocationRequest")
	refused("OverconstrainedAllocationRequest")
	cloud.Refuse(plain, "")
	s.must(0, "up", "--yes", path)
	const nothing = "Nothing to do: everything is there.\n"
	if got := s.must(0, "up", "--dry-run", path).printed(); !strings.Contains(got, nothing) {
		t.Errorf("a second up would do:\n%s", got)
	}
	s.edit("experiment.yaml", "ttl: 4h", "ttl: 14h")
	s.must(0, "up", "--extend", "--yes", path)
	config := filepath.Join(s.dir, "kubeconfig")
	cmd := exec.CommandContext(t.Context(), filepath.Join(cloudtest.Folder(t, "azure"), "az"), "aks", "get-credentials",
		"--resource-group", "nearfar-"+lab, "--name", "nearfar-"+lab, "--file", config)
	cmd.Env = append(os.Environ(), cloud.Env()...)
	out, err := cmd.CombinedOutput()
	if text, _ := os.ReadFile(config); err != nil || !strings.Contains(string(text), ".azmk8s.io:443") {
		t.Errorf("az aks get-credentials: %v\n%s\n%s", err, out, text)
	}
	down := func(says ...string) {
		t.Helper()
		end := s.must(0, "down", "--provider", "azure:"+azuretest.Subscription, "--audit-wait", "0s", path)
		said := end.said() + end.printed()
		for _, text := range append(says, "nothing has the tag nearfar_run="+lab) {
			if !strings.Contains(said, text) {
				t.Errorf("down does not say %q:\n%s", text, said)
			}
		}
		if left := cloud.Resources(); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	}
	down()
	cloud.Refuse("Standard_D4as_v5", "AllocationFailed")
	cloud.Keyless(true)
	s.must(1, "up", "--yes", path)
	down("deleting the resource group nearfar-" + lab)
}
