package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func day(t *testing.T, text string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What ends soon is a warning, and what has ended an error. A name that nobody has looked up is an error too.
func TestLook(t *testing.T) {
	folder := fstest.MapFS{
		"aks/tofu/main.tf":      {Data: []byte("x = 1\n  vm_size = \"Standard_A4_v2\"\n  os_sku = \"Windows2022\" # Windows2019\n")},
		"ec2/tofu/variables.tf": {Data: []byte("  default = \"c6gn.4xlarge\"\n")},
		"eks/tofu/variables.tf": {Data: []byte("variable \"kubernetes_version\" {\n  default = \"1.34\"\n}\n")},
		"README.md":             {Data: []byte("Standard_D3_v2")},
		"x/node_modules/x.ts":   {Data: []byte("'Standard_Z9_v9'")},
	}
	for _, c := range []struct{ today, warns, fails string }{
		{"2026-11-24", "", ""},
		{"2027-09-10", "eks/tofu/variables.tf:1: eks-1.34: Kubernetes 1.34 of EKS: the creation of new ones ends on " +
			"2027-12-02", ""},
		{"2028-05-01", "aks/tofu/main.tf:3: Windows2022: Windows Server 2022 in AKS: the creation of new ones ends on " +
			"2028-06-30", "eks-1.34"},
		{"2028-12-01", "", "aks/tofu/main.tf:2: Standard_A4_v2"},
	} {
		var out strings.Builder
		err := look(folder, &out, day(t, c.today))
		if (c.fails == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.fails) ||
			!strings.Contains(out.String(), c.warns) || c.warns == "" && out.String() != "" {
			t.Errorf("%s: %q, %v, want %q and %q", c.today, out.String(), err, c.warns, c.fails)
		}
	}
	folder["new/main.tf"] = &fstest.MapFile{Data: []byte("size = \"Standard_D4as_v77\"\n")}
	if err := look(folder, new(strings.Builder), day(t, "2026-11-24")); err == nil ||
		!strings.Contains(err.Error(), "new/main.tf:1: Standard_D4as_v77 is not in internal/cloud/preflight/"+
			"lifecycle.json") {
		t.Errorf("a new size: %v", err)
	}
	if err := look(fstest.MapFS{}, new(strings.Builder), day(t, "2026-11-24")); err == nil {
		t.Error("an empty folder is fine")
	}
}

// All that the labs name is in the table. The day is fixed: that time passes is for the linter to say.
func TestLabs(t *testing.T) {
	folder := os.DirFS(filepath.Join("..", "..", "labs"))
	all, err := names(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, n := range all {
		found[n.name] = true
	}
	for _, name := range []string{
		"Standard_D4as_v5", "Standard_D8as_v5", "Standard_D4as_v4", "Standard_A4_v2", "Windows2022", "2022-datacenter",
		"ubuntu-24_04-lts", "ubuntu-2404-lts-amd64", "al2023-ami-kernel-default-", "AL2023_x86_64_STANDARD", "c5.large",
		"c6gn.4xlarge", "c2-standard-4",
	} {
		if !found[name] {
			t.Errorf("%s of the labs is not found: %v", name, found)
		}
	}
	var out strings.Builder
	if err := look(folder, &out, day(t, "2026-11-24")); err != nil || out.String() != "" {
		t.Errorf("%v\n%s", err, out.String())
	}
}
