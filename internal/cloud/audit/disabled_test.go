package audit

import (
	"context"
	"strings"
	"testing"
)

// apiOff is what Google says of an API that a project does not use.
func apiOff(service, project string) string {
	title := map[string]string{"compute": "Compute Engine", "container": "Kubernetes Engine"}[service]
	if title == "" {
		title = "Cloud Resource Manager"
	}
	return title + " API has not been used in project " + project + " before or it is disabled. Enable it by visiting " +
		"https://console.developers.google.com/apis/api/" + service + ".googleapis.com/overview?project=" + project +
		" then retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems " +
		"and retry."
}

// A project that does not use an API has none of its resources. What else gcloud prints leaves it open. The texts are
// those of gcloud 528.0.0 before googletest's fake, and of these reports:
//   - several requests, and the project's number: https://github.com/midl-dev/tezos-on-gke/issues/34
//   - another project, whose quota counts: https://github.com/googleapis/google-cloud-go/issues/7485
//   - 764086051850 is the number of gcloud's own project, in which no API of the user's is on:
//     https://github.com/Flank/flank (its FAQ)
//   - another API: https://github.com/nccgroup/ScoutSuite/issues/616
func TestGoogleAPIIsOff(t *testing.T) {
	const list = "ERROR: (gcloud.compute.disks.list) "
	const login = " This command is authenticated as me@example.com which is the active account specified by the " +
		"[core/account] property."
	details := func(project string) string {
		return "\n- '@type': type.googleapis.com/google.rpc.ErrorInfo\n  domain: googleapis.com\n  metadata:\n" +
			"    consumer: projects/" + project + "\n    service: compute.googleapis.com\n  reason: SERVICE_DISABLED"
	}
	off := apiOff("compute", "my-project")
	const requests = list + "Some requests did not succeed:\n - "
	for name, c := range map[string]struct {
		said string
		none bool
	}{
		"with details":           {list + "PERMISSION_DENIED: " + off + login + details("my-project"), true},
		"without details":        {list + "ResponseError: code=403, message=" + off, true},
		"a request of several":   {requests + off + "\n", true},
		"two requests":           {requests + off + "\n - " + off, true},
		"the project's number":   {requests + apiOff("compute", "579008193409"), true},
		"a list that is partial": {"WARNING: Some requests did not succeed.\n - " + off + "\n\nWARNING: The following", true},

		"gcloud's own project": {list + "PERMISSION_DENIED: " + apiOff("compute", "764086051850"), false},
		"another project":      {list + "PERMISSION_DENIED: " + apiOff("compute", "quota-project"), false},
		"another API":          {list + "PERMISSION_DENIED: " + apiOff("cloudresourcemanager", "my-project"), false},
		"another kind's API":   {list + "PERMISSION_DENIED: " + apiOff("container", "my-project"), false},
		"two projects in one":  {strings.Replace(off, "in project my-project", "in project other", 1), false},
		"details alone":        {list + "PERMISSION_DENIED: denied" + details("my-project"), false},
		"also not permitted":   {requests + off + "\n - Required 'compute.disks.list' permission for 'x'", false},
		"also another project": {requests + off + "\n - " + apiOff("compute", "579008193409"), false},
		"zones that are silent": {"WARNING: Some requests did not succeed.\n - " + off + "\n\nWARNING: The following zones " +
			"did not respond: z. List results may be incomplete.", false},
		"no such project": {requests + "Project 579008193409 is not found and cannot be used for API calls. If it is " +
			"recently created, enable Compute Engine API by visiting https://console.developers.google.com/apis/api/" +
			"compute.googleapis.com/overview?project=579008193409 then retry.", false},
		"no billing": {list + "PERMISSION_DENIED: This API method requires billing to be enabled. Please enable billing " +
			"on project my-project or it is disabled.", false},
		"words of another": {list + "a disk named 'API disabled' or it is disabled: SERVICE_DISABLED", false},
	} {
		s := &stand{answers: map[string]func() ([]byte, error){
			"gcloud compute disks list": fails(strings.ReplaceAll(c.said, "\n", " ")), // as cloudtool.Run gives it
			"gcloud projects describe my-project --format json --quiet": prints(
				`{"projectId": "my-project", "projectNumber": "579008193409"}`),
		}}
		ask := func(project string) Answer {
			return Auditor{Run: s.run}.Audit(context.Background(), Query{Run: "r", Places: []Place{{Google, project}}})[0]
		}
		if got := ask("my-project"); got.None() != c.none {
			t.Errorf("%s: none is %v, unknown is %q", name, got.None(), got.Unknown)
		}
		// It is not known which project gcloud takes by itself.
		if got := ask(""); got.None() || c.none && !strings.Contains(got.Unknown[0], "--provider google:PROJECT") {
			t.Errorf("%s, without a project: unknown is %q", name, got.Unknown)
		}
	}
	// Without its number, the project is not known by one.
	s := &stand{answers: map[string]func() ([]byte, error){
		"gcloud compute disks list": fails(requests + apiOff("compute", "579008193409")),
		"gcloud projects describe":  fails("ERROR: (gcloud.projects.describe) PERMISSION_DENIED"),
	}}
	got := Auditor{Run: s.run}.Audit(context.Background(), Query{Run: "r", Places: []Place{{Google, "my-project"}}})[0]
	if got.None() || len(got.Unknown) != 1 || !strings.Contains(got.Unknown[0], "in project 579008193409") {
		t.Errorf("a number that cannot be compared: %q", got.Unknown)
	}
}
