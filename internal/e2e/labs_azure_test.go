//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

// azureLabs are the labs of Azure and Google Cloud that have a module, each with its experiment files.
func azureLabs() map[string][]string {
	return map[string][]string{
		"azure-ppg":                  {"experiment.yaml", "article.yaml", "linux.yaml"},
		"azure-zones":                {"made.yaml"},
		"aks-accelerated-networking": {"experiment.yaml", "windows.yaml"},
		"gcp-compact-placement":      {"experiment.yaml"},
	}
}

// Every module has only arguments that its provider knows, and passes its own tests. The version of the provider is
// pinned in the module and in the lock file.
func TestAzureLabModules(t *testing.T) {
	t.Parallel()
	for lab := range azureLabs() {
		t.Run(lab, func(t *testing.T) {
			t.Parallel()
			s := newLabStand(t, lab)
			module := filepath.Join(s.lab, "tofu")
			lock, err := os.ReadFile(filepath.Join(module, ".terraform.lock.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"fmt", "-check", "-diff"}, {"init"}, {"validate"}, {"test"}} {
				if printed, err := s.tofu(module, args...); err != nil {
					t.Fatalf("tofu %s: %v\n%s", args[0], err, printed)
				}
			}
			// init has added the hashes of the stand-in alone.
			after, err := os.ReadFile(filepath.Join(module, ".terraform.lock.hcl"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(lock)) {
				if strings.Contains(line, "=") && !strings.Contains(string(after), line) {
					t.Errorf("init has changed %q in the lock file", line)
				}
			}
		})
	}
}

// The tests of the modules notice mistakes: each of these must fail, with this text.
func TestAzureLabMistakesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ lab, verb, old, with, says string }{
		{
			"azure-zones", "validate", "accelerated_networking_enabled", "enable_accelerated_networking",
			"Unsupported argument",
		},
		{"azure-zones", "validate", "  caching              = \"ReadWrite\"\n", "", "Missing required argument"},
		{"azure-zones", "validate", "notification_settings", "notifications", "Unsupported block type"},
		{"azure-zones", "test", `zone = var.zones[1]`, `zone = var.zones[0]`, "Only the pair across zones"},
		{"azure-zones", "test", `each.value.group ?`, `true ?`, "Only the pair of the group"},
		{"azure-ppg", "validate", "daily_recurrence_time", "daily_time", "Unsupported argument"},
		{"azure-ppg", "test", "each.value.accelerated", "true", "Accelerated networking is on in the arms"},
		{"azure-ppg", "test", "each.value.group ?", "true ?", "The group has the VMs"},
		{
			"aks-accelerated-networking", "validate", "node_provisioning_profile {\n    mode = \"Manual\"\n  }\n", "",
			"Insufficient node_provisioning_profile blocks",
		},
		{
			"aks-accelerated-networking", "test", "vm_size               = each.value",
			"vm_size               = var.size_with", "The size of a pool's VMs decides",
		},
		{
			"aks-accelerated-networking", "test", `undrainable_node_behavior = "Schedule"`, "",
			"Each pool has the settings that AKS gives it anyway",
		},
		{"gcp-compact-placement", "validate", "termination_time", "terminate_at", "Unsupported argument"},
		{"gcp-compact-placement", "test", "each.value ?", "true ?", "The policy is on the pair"},
	} {
		t.Run(c.lab+" "+c.says, func(t *testing.T) {
			t.Parallel()
			s := newLabStand(t, c.lab)
			s.change(c.old, c.with)
			module := filepath.Join(s.lab, "tofu")
			if printed, err := s.tofu(module, "init"); err != nil {
				t.Fatal(printed)
			}
			if printed, err := s.tofu(module, c.verb); err == nil || !strings.Contains(printed, c.says) {
				t.Errorf("tofu %s (%v) does not say %q:\n%s", c.verb, err, c.says, printed)
			}
		})
	}
}

// All machines of each experiment are made, have the tags, are hosts that nearfar can use, need nothing more, and are
// deleted again. TestLabsMade does this with further experiments, and runs them.
func TestAzureLabMachines(t *testing.T) {
	t.Parallel()
	for lab, files := range azureLabs() {
		for _, file := range files {
			if slices.ContainsFunc(labsOfVMs(), func(l madeLab) bool { return l.lab == lab && l.file == file }) {
				continue
			}
			t.Run(lab+" "+file, func(t *testing.T) {
				t.Parallel()
				s := newLabStand(t, lab)
				path := filepath.Join(s.lab, file)
				declared := s.read(file, nil)
				plan := s.must(0, "up", "--dry-run", path)
				if !strings.Contains(plan.printed(), "0 to change, 0 to delete") {
					t.Errorf("up --dry-run prints %q", plan.printed())
				}
				s.must(0, "up", "--yes", path)
				if again := s.must(0, "up", path); !strings.Contains(again.said(), "Nothing to do") {
					t.Errorf("the second up says %q", again.said())
				}
				resources, hosts := s.made(declared.Name)
				s.checkTags(resources)
				if lab == "azure-ppg" {
					s.checkPairs(resources)
				}
				s.checkHosts(file, declared, hosts)
				s.must(0, "run", "--dry-run", path)
				s.must(0, "down", path)
				s.nothingLeft()
				noCanary(t, s.dir)
			})
		}
	}
}

// checkTags checks the tags of all resources that can have some, also of what is inside of them, such as disks.
func (s *labStand) checkTags(resources []madeResource) {
	s.t.Helper()
	tagged := 0
	for _, r := range resources {
		key := "tags"
		if strings.HasPrefix(r.Type, "google_") {
			key = "labels" // tags of Google Cloud are about its network
		}
		for _, problem := range untagged(key, r.Address, r.Values) {
			s.t.Error(problem)
		}
		if _, ok := r.Values[key]; ok {
			tagged++
		}
	}
	if tagged == 0 {
		s.t.Error("no resource can have tags")
	}
}

// checkPairs checks that each VM of azure-ppg is in its own availability set, and that front ends and back ends are in
// different subnets. The module's own test cannot check this: its mock gives all resources of a block one identifier.
func (s *labStand) checkPairs(resources []madeResource) {
	s.t.Helper()
	ids := map[string]any{}
	for _, r := range resources {
		ids[r.Address] = r.Values["id"]
	}
	want := func(r madeResource, value any, kind, key string) {
		s.t.Helper()
		address := fmt.Sprintf("%s.this[%q]", kind, key)
		if id := ids[address]; id == nil || id != value {
			s.t.Errorf("%s: has %v, want the identifier of %s, %v", r.Address, value, address, id)
		}
	}
	checked := 0
	for _, r := range resources {
		_, index, _ := strings.Cut(r.Address, "[")
		name := strings.Trim(index, `"]`)
		switch r.Type {
		case "azurerm_windows_virtual_machine", "azurerm_linux_virtual_machine":
			want(r, r.Values["availability_set_id"], "azurerm_availability_set", name)
			checked++
		case "azurerm_network_interface":
			tier := "back"
			if strings.HasSuffix(name, "-front") {
				tier = "front"
			}
			configuration := r.Values["ip_configuration"].([]any)[0].(map[string]any)
			want(r, configuration["subnet_id"], "azurerm_subnet", tier)
			checked++
		}
	}
	if checked == 0 {
		s.t.Error("there are no VMs")
	}
}

// checkHosts checks that the output has all hosts that the file declares, with keys that nearfar reads.
func (s *labStand) checkHosts(file string, declared *experiment.Experiment, hosts map[string]map[string]any) {
	s.t.Helper()
	names := declared.Provisioned()
	for _, name := range names {
		if hosts[name] == nil {
			s.t.Errorf("the output has no host %s", name)
		}
	}
	if len(names) == 0 {
		return // its hosts are pods
	}
	read := s.read(file, hostsText(s.t, hosts))
	if left := read.Provisioned(); len(left) > 0 {
		s.t.Errorf("not known after reading the output: %q", left)
	}
	for _, name := range names {
		h, ok := read.Host(name)
		if !ok || h.Kind() != experiment.HostSSH || h.Address == "" {
			s.t.Errorf("host %s is %v, want one that ssh reaches, with an address", name, h)
		}
	}
}

// The experiments of the labs say what their arms expect, as the modules make it.
func TestAzureLabExpectations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lab, file, expectation string
		arms                   []string // that expect it to be true
	}{
		{"azure-ppg", "experiment.yaml", "accelerated-networking", []string{"accelerated", "proximity-accelerated"}},
		{"azure-ppg", "experiment.yaml", "proximity-placement-group", []string{"proximity", "proximity-accelerated"}},
		{"azure-ppg", "linux.yaml", "accelerated-networking", []string{"accelerated", "proximity-accelerated"}},
		{"azure-ppg", "ping.yaml", "accelerated-networking", []string{"accelerated", "proximity-accelerated"}},
		{"azure-ppg", "article.yaml", "proximity-placement-group", []string{"proximity-accelerated"}},
		{"azure-ppg", "az.yaml", "proximity-placement-group", []string{"proximity-accelerated"}},
		{"azure-zones", "made.yaml", "different-zone", []string{"across-zones"}},
		{"azure-zones", "made.yaml", "proximity-placement-group", []string{"proximity-group"}},
		{"azure-zones", "ping.yaml", "different-zone", []string{"across-zones"}},
		{"aks-accelerated-networking", "experiment.yaml", "accelerated-networking", []string{"accelerated"}},
		{"aks-accelerated-networking", "windows.yaml", "accelerated-networking", []string{"accelerated"}},
		{"gcp-compact-placement", "experiment.yaml", "placement-group", []string{"compact"}},
	} {
		s := &labStand{t: t, lab: filepath.Join("..", "..", "labs", c.lab), variables: labVariables()}
		var expect []string
		for _, arm := range s.read(c.file, nil).Arms {
			for _, e := range arm.Expect {
				if e.Name == c.expectation && e.Value == true {
					expect = append(expect, arm.Name)
				}
			}
		}
		slices.Sort(expect)
		if !slices.Equal(expect, c.arms) {
			t.Errorf("labs/%s/%s: %s is expected of %q, want %q", c.lab, c.file, c.expectation, expect, c.arms)
		}
	}
}
