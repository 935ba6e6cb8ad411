//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// With several deployments, each of these labs deletes and makes again its machines and what places them, and keeps all
// else. nearfar shows the plan before it asks.
func TestLabsMakeMachinesAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lab, file string
		// replaced are types of resources and how many of them are made anew, stay are types that stay.
		replaced map[string]int
		stay     []string
	}{
		{
			"azure-ppg", "linux.yaml",
			map[string]int{
				"azurerm_linux_virtual_machine": 8, "azurerm_availability_set": 8,
				"azurerm_proximity_placement_group": 1, "azurerm_dev_test_global_vm_shutdown_schedule": 8,
			},
			[]string{"azurerm_public_ip", "azurerm_network_interface", "azurerm_resource_group", "azurerm_subnet"},
		},
		{
			"ec2-placement-group", "experiment.yaml", map[string]int{"aws_instance": 6, "aws_placement_group": 1},
			[]string{"aws_vpc", "aws_subnet", "aws_launch_template", "aws_security_group"},
		},
		{
			"gcp-compact-placement", "experiment.yaml",
			map[string]int{"google_compute_instance": 4, "google_compute_resource_policy": 1},
			[]string{"google_compute_network", "google_compute_subnetwork", "google_compute_firewall"},
		},
	} {
		t.Run(c.lab, func(t *testing.T) {
			t.Parallel()
			s := newLabStand(t, c.lab)
			file := filepath.Join(s.lab, c.file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before, _, found := strings.Cut(string(text), "schedule: ")
			if !found {
				t.Fatalf("%s has no schedule", c.file)
			}
			several := before + "schedule: {deployments: 5, blocks: 10}\n"
			if err := os.WriteFile(file, []byte(several), 0o600); err != nil {
				t.Fatal(err)
			}
			s.must(0, "up", "--yes", file)
			said := s.must(2, "run", file).said()
			_, list, _ := strings.Cut(said, "these resources are deleted and made again:\n")
			list, _, found = strings.Cut(list, "Other resources that stay: ")
			if !found || !strings.Contains(said, "give --yes") {
				t.Fatalf("run says:\n%s", said)
			}
			replaced := map[string]int{}
			for line := range strings.Lines(list) {
				kind, _, _ := strings.Cut(strings.TrimSpace(line), ".")
				replaced[kind]++
			}
			for kind, want := range c.replaced {
				if replaced[kind] != want {
					t.Errorf("%d of %s are made anew, want %d:\n%s", replaced[kind], kind, want, list)
				}
			}
			for _, r := range s.providers.Resources() {
				if slices.Contains(c.stay, r.Type) && replaced[r.Type] > 0 {
					t.Errorf("%s is made anew", r.Type)
				}
			}
			if len(replaced) != len(c.replaced) {
				t.Errorf("made anew are:\n%s", list)
			}
			s.must(0, "down", file)
			s.nothingLeft()
		})
	}
}
