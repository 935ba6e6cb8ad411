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

// TestExpandOfOpenOutput: an ssh whose output does not end with it is asked again; the configuration is not blamed.
func TestExpandOfOpenOutput(t *testing.T) {
	for name, once := range map[string]string{"once": "[ -e $PATH/asked ] || ", "always": ""} {
		dir := t.TempDir()
		text := "#!/bin/sh\n" + once + "{ : >$PATH/asked; /bin/sleep 5 & }\necho hostname 10.0.0.1\n"
		if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		s, err := Expand(t.Context(), "", "vm")
		switch {
		case once != "" && (err != nil || s.HostName != "10.0.0.1"):
			t.Errorf("%s: %+v, %v", name, s, err)
		case once == "" && (err == nil || strings.Contains(err.Error(), "refuses") ||
			!strings.Contains(err.Error(), "ssh vm: ssh ended, and its output did not")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
