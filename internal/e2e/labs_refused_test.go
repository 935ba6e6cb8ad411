//go:build linux

package e2e

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nearfar/internal/kits/tofutest"
)

// room is the failure of Azure when it has no room for VMs of a size. The VM exists all the same.
func room(size string) tofutest.FailedCreation {
	return tofutest.FailedCreation{
		Type: "azurerm_linux_virtual_machine", Attribute: "size", Value: size,
		Message: `polling failed: Code="AllocationFailed" Message="Allocation failed."`,
	}
}

// If Azure has no room for a size, the next attempt replaces the VMs that were refused, which exist all the same. down
// deletes everything, also after an up of which every attempt was refused.
func TestAzureLabRefused(t *testing.T) {
	t.Parallel()
	s := newLabStand(t, "azure-ppg")
	s.listing()
	path := filepath.Join(s.lab, "linux.yaml")
	s.providers.FailCreations(room("Standard_D4as_v5"))
	up := s.must(0, "up", "--yes", path)
	if said := up.said(); !strings.Contains(said, "refused: AllocationFailed for azurerm_linux_virtual_machine.this") ||
		!strings.Contains(said, "next attempt with size=Standard_D8as_v5") {
		t.Errorf("up says:\n%s", said)
	}
	resources, _ := s.made("azure-ppg-linux")
	if there := s.providers.Resources(); len(there) != len(resources) {
		t.Errorf("the cloud has %d resources, the state %d", len(there), len(resources))
	}
	s.must(0, "down", path)
	s.nothingLeft()

	s.providers.FailCreations(room("Standard_D4as_v5"), room("Standard_D8as_v5"))
	s.edit("linux.yaml", "attempts: 4", "attempts: 2")
	failed := s.must(1, "up", "--yes", path)
	if !strings.Contains(failed.said(), "with size=Standard_D8as_v5: AllocationFailed") {
		t.Errorf("up without any room says:\n%s", failed.said())
	}
	s.must(0, "down", path)
	s.nothingLeft()
}

// The judge sees what happens without the setting: VMs that were refused are not in the state, so the next attempt
// cannot make them again, and the first deletion stops at what they use. down deletes the resource group then, with
// all that is in it.
func TestAzureLabRefusedWithoutState(t *testing.T) {
	t.Parallel()
	s := newLabStand(t, "azure-ppg")
	s.listing()
	path := filepath.Join(s.lab, "linux.yaml")
	s.change("persist_id_on_create_before_polling_for_completion = true",
		"persist_id_on_create_before_polling_for_completion = false")
	s.providers.FailCreations(room("Standard_D4as_v5"))
	failed := s.must(1, "up", "--yes", path)
	if !strings.Contains(failed.said(), "already exists - to be managed via Terraform") {
		t.Errorf("up says:\n%s", failed.said())
	}
	down := s.must(0, "down", path)
	if !strings.Contains(down.said(), "deleting the resource group nearfar-azure-ppg-linux") {
		t.Errorf("down says:\n%s", down.said())
	}
	s.nothingLeft()
}

// More time would replace VMs of Azure and of Google, and stop machines of EC2: up --extend refuses, and changes nothing.
func TestLabsExtendedAreRefused(t *testing.T) {
	t.Parallel()
	for lab, c := range map[string]struct{ file, says string }{
		"azure-zones": {"made.yaml", `azurerm_linux_virtual_machine.this["group-client"] (replace)`},
		"gcp-compact-placement": {
			"experiment.yaml", `google_compute_instance.this["compact-client"] (replace)`,
		},
		"ec2-placement-group": {"experiment.yaml", `aws_instance.this["apart-client"] (stopped and started`},
	} {
		t.Run(lab, func(t *testing.T) {
			t.Parallel()
			s := newLabStand(t, lab)
			s.listing()
			path := filepath.Join(s.lab, c.file)
			s.must(0, "up", "--yes", path)
			before := s.providers.Resources()
			// The new time differs from the old one by a second at least.
			s.edit(c.file, "ttl: ", "ttl: 1")
			if said := s.must(1, "up", "--extend", "--yes", path).said(); !strings.Contains(said, c.says) ||
				!strings.Contains(said, "more time would cost the machines, and nothing was done") {
				t.Errorf("up --extend says:\n%s", said)
			}
			if after := s.providers.Resources(); !reflect.DeepEqual(before, after) {
				t.Errorf("there are %+v, before %+v", after, before)
			}
			s.must(0, "down", path)
			s.nothingLeft()
		})
	}
}

// edit replaces a text in an experiment file of the lab.
func (s *labStand) edit(file, old, with string) {
	s.t.Helper()
	change(s.t, filepath.Join(s.lab, file), old, with)
}
