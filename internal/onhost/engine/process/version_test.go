package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A published release says its version alone; any other build says more than that.
func TestVersion(t *testing.T) {
	if v := Version(); v == "" || v == "1.2.3" {
		t.Errorf("the version is %q", v)
	}
	stamped = "1.2.3"
	t.Cleanup(func() { stamped = "" })
	if v := Version(); v != "1.2.3" {
		t.Errorf("a release that is stamped 1.2.3 is %q", v)
	}
}

// The linker says nothing about a variable that does not exist: the scripts must name this one.
func TestScriptsStampVersion(t *testing.T) {
	const flags = `-X $($go list ./internal/onhost/engine/process).stamped=$NEARFAR_VERSION`
	for _, script := range []string{"agents.sh", "dist.sh"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "scripts", script))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), flags) {
			t.Errorf("scripts/%s does not say %q", script, flags)
		}
	}
}
