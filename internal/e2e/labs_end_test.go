//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// VMs with Linux shut themselves down: at each start, cloud-init runs a command that asks systemd for it. systemd-run
// is a script of the test, which prints its arguments; internal/kits/boottest starts systemd itself.
func TestAzureLabVMsEnd(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	fake := "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
	for name, text := range map[string]string{"systemd-run": fake, "systemctl": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, lab := range []string{"azure-ppg", "azure-zones", "gcp-compact-placement"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "labs", lab, "tofu", "cloud-init.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "#cloud-config\n") {
			t.Errorf("%s: the first line is not #cloud-config, so cloud-init would ignore the file", lab)
		}
		for _, c := range []struct {
			expires         time.Duration
			least, greatest int // seconds until the end
		}{
			{4 * time.Hour, 4*3600 - 120, 4 * 3600},
			{-time.Hour, 60, 60}, // a VM that is started after its time
		} {
			expires := time.Now().Add(c.expires).UTC().Format(time.RFC3339)
			var config struct {
				Bootcmd [][]string
			}
			made := strings.ReplaceAll(string(text), "${expires}", expires)
			if err := yaml.Unmarshal([]byte(made), &config); err != nil {
				t.Fatalf("%s: %v", lab, err)
			}
			if len(config.Bootcmd) != 1 {
				t.Fatalf("%s: %d commands at start, want 1", lab, len(config.Bootcmd))
			}
			command := config.Bootcmd[0]
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = []string{"PATH=" + programs + ":/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", lab, err, out)
			}
			args := strings.Split(strings.TrimSpace(string(out)), "\n")
			at := slices.Index(args, "systemctl")
			if at < 0 || !slices.Equal(args[at:], []string{"systemctl", "poweroff"}) {
				t.Fatalf("%s: systemd-run gets %q", lab, args)
			}
			// Else the timer waits for the start of the system, which waits for systemd-run: see
			// internal/kits/boottest.
			for _, option := range []string{"--timer-property=DefaultDependencies=no", "--property=DefaultDependencies=no"} {
				if !slices.Contains(args[:at], option) {
					t.Errorf("%s: systemd-run gets no %s: %q", lab, option, args)
				}
			}
			left, found := strings.CutPrefix(args[1], "--on-active=")
			seconds, err := strconv.Atoi(strings.TrimSuffix(left, "s"))
			if err != nil || !found || seconds < c.least || seconds > c.greatest {
				t.Errorf("%s: the VM ends after %q, want %d to %d s", lab, args[1], c.least, c.greatest)
			}
		}
	}
}
