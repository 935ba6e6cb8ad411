//go:build linux

package kubetest

import (
	"strings"
	"testing"
)

// A program that is missing is an error that says what installs it.
func TestMissingPrograms(t *testing.T) {
	requireRights(t) // others may not find programs that only root has on the path
	if folder, err := components(); err != nil {
		t.Fatalf("%s: %v", folder, err)
	}
	for variable, want := range map[string]string{
		"PATH": "scripts/install-tools.sh test", "XDG_CACHE_HOME": "scripts/kubernetes.sh",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, t.TempDir())
			if _, err := components(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		})
	}
}
