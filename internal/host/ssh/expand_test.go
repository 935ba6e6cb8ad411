//go:build unix

package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExpandOfKilledSSH: an ssh that is killed while it tells its settings is asked once more. If it is killed again, the
// message does not blame the configuration.
func TestExpandOfKilledSSH(t *testing.T) {
	for name, once := range map[string]string{"once": "[ -e $PATH/asked ] || ", "always": ""} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		text := "#!/bin/sh\n" + once + "{ : >$PATH/asked; kill -9 $$; }\necho hostname 10.0.0.1\n"
		if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		s, err := Expand(t.Context(), "", "vm")
		switch {
		case once != "" && (err != nil || s.HostName != "10.0.0.1"):
			t.Errorf("%s: %+v, %v", name, s, err)
		case once == "" && (err == nil || strings.Contains(err.Error(), "refuses") ||
			!strings.Contains(err.Error(), "ssh vm: ssh ended before it had told its settings (signal: killed)")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
