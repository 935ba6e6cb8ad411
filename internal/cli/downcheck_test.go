package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDownCheckWithFewRights: nobody is told that nothing is left where something was not looked at: because a right is
// missing, or the API server lists only a part.
func TestDownCheckWithFewRights(t *testing.T) {
	kinds := map[string]string{"pods": "PodList", "services": "ServiceList", "serviceaccounts": "ServiceAccountList",
		"networkpolicies": "NetworkPolicyList"}
	for name, answers := range map[string]struct {
		to   string // the end of the path that is not answered as it should be; empty for all
		with func(w http.ResponseWriter, kind string)
	}{
		"no rights":      {"", forbidden},
		"no right":       {"/networkpolicies", forbidden},
		"a part of them": {"/pods", func(w http.ResponseWriter, kind string) { emptyList(w, kind, "again") }},
		"another kind":   {"/pods", func(w http.ResponseWriter, _ string) { emptyList(w, "List", "") }},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				kind := kinds[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
				if strings.HasSuffix(r.URL.Path, answers.to) {
					answers.with(w, kind)
					return
				}
				emptyList(w, kind, "")
			}))
			defer server.Close()
			config := filepath.Join(t.TempDir(), "kubeconfig")
			text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "%s"}}],
users: [{name: u, user: {token: x}}]}`, server.URL)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, stderr := command(t, exitFailed, "down", "--check", "--kubeconfig", config, "--namespace", "perf")
			if strings.Contains(stdout+stderr, "is left.") || !strings.Contains(stdout, "something may be left") ||
				!strings.Contains(stdout, "not looked at") {
				t.Errorf("it says:\n%s%s", stdout, stderr)
			}
		})
	}
}

func forbidden(w http.ResponseWriter, _ string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
}

// emptyList answers with an empty list.
func emptyList(w http.ResponseWriter, kind, more string) {
	w.Header().Set("Content-Type", "application/json")
	const list = `{"kind": "%s", "apiVersion": "%s", "items": [], "metadata": {"resourceVersion": "1", "continue": "%s"}}`
	version := "v1"
	if kind == "NetworkPolicyList" {
		version = "networking.k8s.io/v1"
	}
	fmt.Fprintf(w, list, kind, version, more)
}
