package tofutest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"nearfar/internal/kits/tofutest"
)

// The real providers accept the modules of all labs, and the modules' own tests pass with the real schemas.
func TestProvidersValidate(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			real := tofutest.NewReal(t, kind)
			for _, lab := range real.Labs() {
				t.Run(lab, func(t *testing.T) {
					module := real.Module(t, lab, tofutest.Variables(lab)...)
					module.Must("validate")
					module.Must("test")
				})
			}
		})
	}
}

// google accepts the plan of its lab: names, enumerations and combinations of arguments. It has a token that nobody
// accepts, and its services are on this machine; a plan of what does not exist asks for nothing.
func TestProvidersGooglePlan(t *testing.T) {
	real := tofutest.NewReal(t, "google")
	for _, run := range []string{"gcp-compact-placement", strings.Repeat("a-Long.Name_", 8)} {
		t.Run(fmt.Sprint(len(run)), func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.Method+" "+r.URL.Path)
				http.NotFound(w, r)
			}))
			t.Cleanup(server.Close)
			module := real.Module(t, "gcp-compact-placement", append(tofutest.Variables(run),
				"GOOGLE_OAUTH_ACCESS_TOKEN=CANARY-token", "GOOGLE_COMPUTE_CUSTOM_ENDPOINT="+server.URL+"/compute/v1/",
				"HTTPS_PROXY="+server.URL)...)
			plan := module.Must("plan", "-input=false", "-no-color")
			if !strings.Contains(plan, "Plan: 9 to add, 0 to change, 0 to destroy.") {
				t.Errorf("the plan is\n%s", plan)
			}
			mu.Lock()
			defer mu.Unlock()
			t.Logf("asked for %q", asked)
		})
	}
}
