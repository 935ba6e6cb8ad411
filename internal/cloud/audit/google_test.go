//go:build unix

package audit

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kits/googletest"
)

// The real gcloud finds what the fake of the Compute Engine API has, and says so if it may not ask.
func TestGoogleWithGcloud(t *testing.T) {
	cloud := googletest.New(t)
	for _, one := range cloud.Gcloud(t) {
		name, value, _ := strings.Cut(one, "=")
		t.Setenv(name, value)
	}
	cloud.Pages(1)
	for name, run := range map[string]string{"mine": "r", "more": "r", "other": "q"} {
		cloud.Make(http.MethodPost, "zones/"+googletest.Region+"-a/disks", fmt.Sprintf(
			`{"name": %q, "labels": {"nearfar_run": %q, "nearfar_owner": "me", "nearfar_expires": "2026-11-21t19-22-00z"}}`,
			name, run))
	}
	ask := func(project string) Answer {
		a := Auditor{Limit: 30 * time.Minute} // gcloud takes three seconds of CPU time for each question
		return a.Audit(context.Background(), Query{Run: "r", Owner: "me", Places: []Place{{Google, project}}})[0]
	}
	left := []string{"disks zones/europe-west4-a/disks/mine", "disks zones/europe-west4-a/disks/more"}
	checkAnswer(t, ask(googletest.Project), left, nil, nil)
	// The fake says only of its own project that it does not use Kubernetes Engine.
	if got := ask("another"); len(got.Unknown) != 7 || got.None() {
		t.Errorf("in a project that does not exist: %q, %q", names(got.Left), got.Unknown)
	}
	token := os.Getenv("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE")
	if err := os.WriteFile(token, []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(googletest.Project); len(got.Unknown) != 6 || got.None() {
		t.Errorf("without a login: %q, %q", names(got.Left), got.Unknown)
	}
	if err := os.WriteFile(token, []byte(googletest.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	cloud.Disable()
	checkAnswer(t, ask(googletest.Project), nil, nil, nil)
}

// gcloud can warn that it could not ask, and end with exit code 0. What it printed is recorded: gcloud 578.0.0 without
// permission, and its text for zones of Kubernetes Engine that do not answer.
func TestGoogleIsPartial(t *testing.T) {
	for _, said := range []string{
		"WARNING: Some requests did not succeed.\n - Request had invalid authentication credentials. Expected OAuth 2 " +
			"access token, login cookie or other valid authentication credential.\n\nWARNING: The following filter keys " +
			"were not present in any resource : labels.nearfar_run",
		"WARNING: The following zones did not respond: europe-west4-a. List results may be incomplete.",
	} {
		folder := t.TempDir()
		script := "#!/bin/sh\ncat >&2 <<'END'\n" + said + "\nEND\necho '[]'\n"
		if err := os.WriteFile(filepath.Join(folder, "gcloud"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		got := Auditor{}.Audit(context.Background(), Query{Run: "r", Places: []Place{{Google, "p"}}})[0]
		if got.None() || !slices.ContainsFunc(got.Unknown, func(s string) bool {
			return strings.HasPrefix(s, "gcloud compute instances list: it could not ask everything: WARNING: ")
		}) {
			t.Errorf("unknown is %q", got.Unknown)
		}
	}
}
