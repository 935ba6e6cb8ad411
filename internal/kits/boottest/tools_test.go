//go:build linux

package boottest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A machine on which scripts/install-tools.sh has installed the measuring tools starts, and nothing listens: netperf's
// package brings a service that starts with the machine, as root, and sends any file to anybody.
func TestInstalledToolsOpenNothing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "install-tools.sh"))
	if err != nil {
		t.Fatal(err)
	}
	const install = "apt-get update -qq\nexport DEBIAN_FRONTEND=noninteractive\n"
	const script = "sh /srv/install-tools.sh demo\n"
	for _, test := range []struct {
		name, before string
		always, open bool
	}{
		{"package-there-before", install + "apt-get install -y -qq netperf\n" + script, true, false},
		{"new", script, false, false},
		{"twice", script + script, false, false},
		// The script for tests also wants packages that are not there, and fails after it has installed etcd.
		{
			"incomplete", install + "apt-get install -y -qq netperf\nsh /srv/install-tools.sh test || command -v etcd\n",
			false, false,
		},
		{"new-and-incomplete", "sh /srv/install-tools.sh test || command -v etcd\n", false, false},
		// Without the script, netperf listens: so the test would see it.
		{"without", install + "apt-get install -y -qq netperf iperf3 sockperf\n", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !test.always && requested() != "all" {
				t.Skip("NEARFAR_BOOTS=all runs it")
			}
			t.Parallel()
			// sshd is the image's own. Without it, nothing at all may listen.
			m := NewNetwork(t).Start(Image{
				System: "debian", UserData: "#cloud-config\n", Files: map[string]string{"srv/install-tools.sh": string(text)},
				Before: test.before + "ln -s /dev/null /etc/systemd/system/ssh.service\n" +
					"ln -s /dev/null /etc/systemd/system/ssh.socket\n",
			})
			m.Wait("the machine has started", 3*within, func() bool {
				out, _ := m.Run("systemctl", "is-system-running") // its exit code says what it prints
				state := strings.TrimSpace(out)
				return state == "running" || state == "degraded"
			})
			if out, err := m.Run("sh", "-c", "command -v netserver iperf3 sockperf"); err != nil {
				t.Errorf("tools are missing: %v\n%s", err, out)
			}
			out, err := m.Run("ss", "-Hltunp")
			if err != nil {
				t.Fatalf("ss: %v\n%s", err, out)
			}
			if !test.open && strings.TrimSpace(out) != "" {
				t.Errorf("something listens:\n%s", out)
			}
			if test.open && !strings.Contains(out, ":12865 ") {
				t.Errorf("netperf does not listen: the test shows nothing\n%s", out)
			}
		})
	}
}
