package preflight

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const tokenCanary = "CANARY-token"

// googleAnswers are recorded answers of gcloud for a project, and a Resource Manager that grants all permissions but
// those that are missing.
func googleAnswers(t *testing.T, missing ...string) answers {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Permissions []string }
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &asked) != nil || r.URL.Path != "/v1/projects/p:testIamPermissions" ||
			r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+tokenCanary {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error": {"code": 403, "status": "PERMISSION_DENIED"}}`))
			return
		}
		asked.Permissions = slices.DeleteFunc(asked.Permissions, func(p string) bool { return slices.Contains(missing, p) })
		_ = json.NewEncoder(w).Encode(map[string]any{"permissions": asked.Permissions})
	}))
	t.Cleanup(server.Close)
	t.Setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER", server.URL+"/")
	return answers{t, "google", map[string]string{
		"gcloud auth application-default print-access-token":  tokenCanary + "\n",
		"gcloud org-policies describe compute.requireOsLogin": `{"spec": {"rules": [{"enforce": false}]}}`,
	}}
}

// A project in which the lab could be made.
func TestGoogle(t *testing.T) {
	a := googleAnswers(t)
	all := Checker{Now: today(), Run: a.run}.Check(t.Context(), wantsOf(t, "gcp-compact-placement"))
	onlyUnknown(t, all)
	if n := Count(all, Refused); n > 0 {
		t.Errorf("%d would be refused: %v", n, all)
	}
	wantCheck(t, all, checkQuota, "C2_CPUS in europe-west4", OK, "4 of 24 are used, and 16 more are wanted")
	wantCheck(t, all, checkQuota, "IN_USE_ADDRESSES", OK, "4 more")
	wantCheck(t, all, checkQuota, "NETWORKS of the project", OK, "1 of 5")
	wantCheck(t, all, checkSize, "c2-standard-4 in europe-west4-a", OK, "4 vCPUs")
	wantCheck(t, all, checkPlacement, "c2-standard-4 with a compact", OK, "C2")
	wantCheck(t, all, checkRights, "compute.instances.create", OK, "")
	wantCheck(t, all, checkPolicy, "public addresses", OK, "")
	for _, c := range all {
		if strings.Contains(c.Found+c.Do+c.About, tokenCanary) {
			t.Errorf("it shows the token: %v", c)
		}
	}
}

// What Google would refuse is said with its figures.
func TestGoogleRefuses(t *testing.T) {
	a := googleAnswers(t, "compute.subnetworks.useExternalIp")
	a.instead["gcloud org-policies describe compute.vmExternalIpAccess"] = `{"spec": {"rules": [{"denyAll": true}]}}`
	a.instead["gcloud compute regions describe"] = `{"quotas": [{"limit": 8.0, "metric": "C2_CPUS", "usage": 0.0}]}`
	a.instead["gcloud services list"] = `[]`
	a.instead["gcloud compute images describe"] = "ERROR (gcloud.compute.images.describe-from-family) Could not fetch " +
		"resource: - The resource 'projects/ubuntu-os-cloud/global/images/family/x' was not found"
	w := wantsOf(t, "gcp-compact-placement")
	w.Places[0].Machines[0].Size = "t2d-standard-4"
	all := Checker{Now: today(), Run: a.run}.Check(t.Context(), w)
	wantCheck(t, all, checkPolicy, "public addresses", Refused, "compute.vmExternalIpAccess")
	wantCheck(t, all, checkQuota, "C2_CPUS", Refused, "0 of 8 are used, and 12 more are wanted: 4 too many")
	wantCheck(t, all, checkQuota, "T2D_CPUS", Unknown, "no such quota")
	wantCheck(t, all, checkProvider, "compute.googleapis.com", Refused, "not enabled")
	wantCheck(t, all, checkRights, "compute.subnetworks.useExternalIp", Refused, "")
	wantCheck(t, all, checkRights, "compute.networks.create", OK, "")
	wantCheck(t, all, checkImage, "ubuntu-os-cloud/ubuntu-2404-lts-amd64", Refused, "was not found")
	wantCheck(t, all, checkPlacement, "t2d-standard-4", Unknown, "T2D")
}

// Without application default credentials, no permission is called fine.
func TestGoogleWithoutCredentials(t *testing.T) {
	a := googleAnswers(t)
	a.instead["gcloud auth application-default print-access-token"] = "ERROR Your default credentials were not found."
	all := Checker{Now: today(), Run: a.run}.Check(t.Context(), wantsOf(t, "gcp-compact-placement"))
	wantCheck(t, all, checkRights, "compute.instances.create", Unknown, "gcloud auth application-default login")
	w := wantsOf(t, "gcp-compact-placement")
	w.Places[0].Part = ""
	if all = (Checker{Now: today(), Run: a.run}).Check(t.Context(), w); Count(all, OK) > 0 {
		t.Errorf("without a project something is ok: %v", all)
	}
}
