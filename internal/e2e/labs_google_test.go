//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/kits/googletest"
)

// A googleStand is the lab on Google Cloud with the real provider and the fake of the Compute Engine API.
type googleStand struct {
	*labStand
	cloud *googletest.Cloud
	path  string
}

// newGoogleStand skips the test without the real provider: it takes minutes to build.
func newGoogleStand(t *testing.T) *googleStand {
	t.Helper()
	mirror := os.Getenv("NEARFAR_PROVIDERS")
	found := glob(t, filepath.Join(mirror, "*", "hashicorp", "google", "*", "*", "terraform-provider-google*"))
	if mirror == "" || len(found) == 0 {
		t.Skip("NEARFAR_PROVIDERS names no folder with the real provider hashicorp/google")
	}
	s := &googleStand{newLabStand(t, "gcp-compact-placement"), googletest.New(t), ""}
	s.path = filepath.Join(s.lab, "experiment.yaml")
	config := filepath.Join(s.dir, "real.rc")
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", mirror)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"TF_CLI_CONFIG_FILE": config, "GOOGLE_PROJECT": googletest.Project,
		"GOOGLE_COMPUTE_CUSTOM_ENDPOINT": s.cloud.URL, "GOOGLE_OAUTH_ACCESS_TOKEN": googletest.Token,
		// Nothing but the fake is asked.
		"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1",
	} {
		s.variables[name] = value
	}
	s.edit("experiment.yaml", "wait: 10m", "wait: 1s")
	return s
}

// The real provider makes the lab in the fake: a zone without capacity is left for the next one, a second up changes
// nothing, more time is refused, and down leaves nothing.
func TestProvidersGoogleLab(t *testing.T) {
	t.Parallel()
	s := newGoogleStand(t)
	s.cloud.Exhaust(googletest.Region+"-a", "c2-standard-4", true)
	up := s.must(0, "up", "--yes", s.path)
	if said := up.said(); !strings.Contains(said, "refused: ZONE_RESOURCE_POOL_EXHAUSTED") ||
		!strings.Contains(said, "next attempt with zone=europe-west4-b") {
		t.Errorf("up says:\n%s", said)
	}
	const policy = "projects/nearfar-test/regions/europe-west4/resourcePolicies/nearfar-gcp-compact-placement"
	for _, pair := range []string{"compact", "default"} {
		for _, side := range []string{"client", "server"} {
			vm := "projects/nearfar-test/zones/europe-west4-b/instances/nearfar-gcp-compact-placement-" + pair + "-" + side
			policies, _ := s.cloud.Resource(vm, "resourcePolicies").([]any)
			if on := fmt.Sprint(policies) == "[https://www.googleapis.com/compute/v1/"+policy+"]"; on != (pair == "compact") {
				t.Errorf("%s has the policies %v", vm, policies)
			}
			if s.cloud.Resource(vm, "status") != "RUNNING" || s.cloud.Resource(vm, "scheduling", "terminationTime") == nil ||
				s.cloud.Resource(vm, "scheduling", "instanceTerminationAction") != "DELETE" {
				t.Errorf("%s is %v", vm, s.cloud.Resource(vm))
			}
		}
	}
	before := s.cloud.Resources()
	const all = 4 + 4 + 5 // VMs, disks, and network, subnet, two rules, policy
	if len(before) != all {
		t.Errorf("there are %q", before)
	}
	s.must(0, "up", "--yes", s.path)
	s.edit("experiment.yaml", "ttl: 4h", "ttl: 14h")
	extended := s.must(1, "up", "--extend", "--yes", s.path)
	if said := extended.said(); !strings.Contains(said, "more time would cost the machines, and nothing was done") {
		t.Errorf("up --extend says:\n%s", said)
	}
	if after := s.cloud.Resources(); !slices.Equal(before, after) {
		t.Errorf("there are %q, before %q", after, before)
	}
	s.must(0, "down", s.path)
	if left := s.cloud.Resources(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// A quota that is used up is said, and what was made before is deleted by down. What uses the network from outside is
// named.
func TestProvidersGoogleLabRefused(t *testing.T) {
	t.Parallel()
	s := newGoogleStand(t)
	s.edit("experiment.yaml", "attempts: 4", "attempts: 2")
	s.cloud.Limit("C2_CPUS", 8)
	failed := s.must(1, "up", "--yes", s.path)
	if said := failed.said(); !strings.Contains(said, "QUOTA_EXCEEDED") {
		t.Errorf("up says:\n%s", said)
	}
	s.cloud.Make("POST", "global/firewalls", `{"name": "foreign",
		"network": "global/networks/nearfar-gcp-compact-placement", "allowed": [{"IPProtocol": "tcp"}]}`)
	down := s.must(1, "down", s.path)
	if said := down.said(); !strings.Contains(said, "is already being used by") || !strings.Contains(said, "foreign") {
		t.Errorf("down says:\n%s", said)
	}
	s.cloud.Remove("projects/nearfar-test/global/firewalls/foreign")
	s.must(0, "down", s.path)
	if left := s.cloud.Resources(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
