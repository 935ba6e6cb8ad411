package googletest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gcloudVariable has the path of an installed gcloud. It comes from no package registry, so tests with it are on
// request.
const gcloudVariable = "NEARFAR_GCLOUD"

// Gcloud is an environment in which the real gcloud is the first on the path and talks to this cloud, as NAME=VALUE. It
// skips the test if no gcloud is given. Nothing of the user's own configuration is read.
func (c *Cloud) Gcloud(t testing.TB) []string {
	t.Helper()
	program := os.Getenv(gcloudVariable)
	if program == "" {
		t.Skipf("%s is not set: the path of an installed gcloud", gcloudVariable)
	}
	folder := t.TempDir()
	if err := os.Symlink(program, filepath.Join(folder, "gcloud")); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(folder, "token")
	if err := os.WriteFile(token, []byte(Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSuffix(c.URL, "compute/v1/")
	return []string{
		"PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH"),
		"CLOUDSDK_CONFIG=" + filepath.Join(folder, "configuration"),
		"CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=" + token,
		"CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=" + c.URL,
		"CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER=" + root + "container/",
		"CLOUDSDK_CORE_CHECK_GCE_METADATA=false", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true",
		"CLOUDSDK_CORE_DISABLE_FILE_LOGGING=true", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true",
	}
}

// isOther says that a request is for Kubernetes Engine, which the project does not use.
func isOther(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/container/") }
