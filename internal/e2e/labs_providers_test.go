//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/azuretest"
	"nearfar/internal/cloudtest"
	"nearfar/internal/tofutest"
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
	if !strings.Contains(down.said(), "nothing has the tag nearfar_run=azure-ppg-linux") {
		t.Errorf("down says:\n%s", down.said())
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
