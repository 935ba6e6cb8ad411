package preflight

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/moduleroot"
	"nearfar/internal/kits/tofutest"
)

var update = flag.Bool("update", false, "make the plans of testdata anew, with the real OpenTofu")

// labs are the labs with modules, and the variables of the environment that their plans are made with.
func labs() map[string][]string {
	own := []string{
		"TF_VAR_nearfar_owner=me@here", "TF_VAR_nearfar_run=check", "TF_VAR_nearfar_expires=2026-11-24T19:22:00Z",
		"TF_VAR_public_key=ssh-ed25519 AAAA", "TF_VAR_ssh_from=203.0.113.7/32", "AWS_REGION=us-east-1",
	}
	return map[string][]string{
		"aks-accelerated-networking": own, "azure-zones": own, "ec2-placement-group": own, "eks-placement-group": own,
		"azure-ppg": append(slices.Clone(own), "TF_VAR_os=linux"), "gcp-compact-placement": append(slices.Clone(own),
			"TF_VAR_project=p"),
	}
}

// plan makes the plan of a lab, and gives the parts that are read.
func planOf(t *testing.T, lab string, environment []string) []byte {
	t.Helper()
	providers := tofutest.NewProviders(t)
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(root, "labs", lab, "tofu"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, ".terraform.lock.hcl")); err != nil { // it has hashes of the real ones
		t.Fatal(err)
	}
	tofu := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), providers.Tofu(), args...)
		cmd.Dir, cmd.Env = folder, append(append(os.Environ(), providers.Env()...), environment...)
		var problems bytes.Buffer
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tofu %s: %v\n%s%s", args[0], err, out, problems.String())
		}
		return out
	}
	tofu("init", "-input=false")
	tofu("plan", "-input=false", "-out=plan")
	var p ShownPlan
	if err := json.Unmarshal(tofu("show", "-json", "plan"), &p); err != nil {
		t.Fatal(err)
	}
	for i := range p.Changes { // nothing reads these
		delete(p.Changes[i].Change.After, "custom_data")
		delete(p.Changes[i].Change.After, "metadata")
		delete(p.Changes[i].Change.After, "user_data")
	}
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// wantsOf reads the plan of a lab that is in testdata.
func wantsOf(t *testing.T, lab string) Wants {
	t.Helper()
	file := filepath.Join("testdata", "plans", lab+".json")
	if *update {
		if err := os.WriteFile(file, planOf(t, lab, labs()[lab]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := OfPlan(text, func(name string) string {
		return map[string]string{"AWS_REGION": "us-east-1", "ARM_SUBSCRIPTION_ID": "s"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What the labs make is read from their plans.
func TestPlansOfLabs(t *testing.T) {
	for lab, want := range map[string]string{
		"aks-accelerated-networking": "azure westeurope: 2 Standard_A4_v2, 1 Standard_D4as_v5, 2 Standard_D4as_v5; " +
			"cluster 1, public address 1",
		"azure-ppg": "azure australiaeast: 8 Standard_D4as_v5; availability set 8, network 1, network interface 8, " +
			"public address 8, security group 1",
		"azure-zones": "azure westeurope: 4 Standard_D4as_v4, 1 Standard_D4as_v4 in 1, 1 Standard_D4as_v4 in 3; " +
			"availability set 1, network 1, network interface 6, public address 6, security group 1",
		"ec2-placement-group": "aws us-east-1: 6 c6gn.4xlarge; internet gateway 1, network 1",
		"eks-placement-group": "aws us-east-1: 2 c5.large, 2 c5.large; cluster 1, internet gateway 1, network 1",
		"gcp-compact-placement": "google europe-west4: 4 c2-standard-4 in europe-west4-a; firewall rule 2, network 1, " +
			"placement policy 1, subnet 1",
	} {
		t.Run(lab, func(t *testing.T) {
			w := wantsOf(t, lab)
			if len(w.Unknown) > 0 {
				t.Errorf("unknown: %q", w.Unknown)
			}
			if got := describe(w); got != want {
				t.Errorf("wanted are\n%s, want\n%s", got, want)
			}
		})
	}
}

// describe writes what is wanted: machines that are alone are added up.
func describe(w Wants) string {
	var places []string
	for _, p := range w.Places {
		var machines, counts []string
		alone := map[string]int{}
		for _, m := range p.Machines {
			name := m.Size
			if m.Zone != "" {
				name += " in " + m.Zone
			}
			if m.Node {
				machines = append(machines, itoa(m.Count)+" "+name)
			} else {
				alone[name] += m.Count
			}
		}
		for name, n := range alone {
			machines = append(machines, itoa(n)+" "+name)
		}
		for kind, n := range p.Counts {
			counts = append(counts, kind+" "+itoa(n))
		}
		slices.SortFunc(machines, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
		slices.Sort(counts)
		places = append(places, p.String()+": "+strings.Join(machines, ", ")+"; "+strings.Join(counts, ", "))
	}
	return strings.Join(places, " | ")
}

func itoa(n int) string { return string(rune('0' + n)) }
