//go:build linux

package boottest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// requested says whether all machines are started, and not only one: NEARFAR_BOOTS=all, or NEARFAR_BOOTS=ubuntu for the
// same with Ubuntu.
func requested() string { return os.Getenv("NEARFAR_BOOTS") }

// script reads what the machines of a lab get, for machines that end at a time.
func script(t *testing.T, file string, expires time.Time) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "labs", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	format := time.RFC3339
	if strings.HasSuffix(file, ".sh") {
		format = "2006-01-02 15:04:05 UTC" // machines.tf formats it
	}
	return strings.ReplaceAll(string(text), "${expires}", expires.UTC().Format(format))
}

// within is how long a machine may take until sshd answers. On an idle machine, it is 15 s.
const within = 2 * time.Minute

// The machines of labs can be reached, end themselves, and have their tools. The machines of azure-zones and
// gcp-compact-placement get the same file as those of azure-ppg (TestMachinesOfLabsStartAlike).
func TestMachinesOfLabsStart(t *testing.T) {
	t.Parallel()
	files := []string{"azure-ppg/tofu/cloud-init.yaml"}
	if requested() != "" {
		files = append(files, "ec2-placement-group/tofu/start.sh")
	}
	system := "debian"
	if requested() == "ubuntu" {
		system = "ubuntu"
	}
	for _, file := range files {
		t.Run(strings.Split(file, "/")[0], func(t *testing.T) {
			m := NewNetwork(t).Start(Image{
				System: system, UserData: script(t, file, time.Now().Add(4*time.Hour)),
			})
			m.Wait("sshd listens", within, func() bool { return m.Listens(22) })
			t.Logf("sshd listens after %v", time.Since(m.Started).Round(time.Second))
			m.Wait("cloud-init is done", 3*within, func() bool {
				_, err := m.Run("test", "-e", "/var/lib/cloud/instance/boot-finished")
				return err == nil
			})
			t.Logf("all is done after %v", time.Since(m.Started).Round(time.Second))
			if out, err := m.Run("systemctl", "is-active", "nearfar-expires.timer"); err != nil {
				t.Errorf("the timer of the end is %s", out)
			}
			out, err := m.Run("systemctl", "list-timers", "--no-pager", "nearfar-expires.timer")
			if !strings.Contains(out, "3h 5") || err != nil {
				t.Errorf("the machine does not end in less than 4 hours: %v\n%s", err, out)
			}
			if strings.HasSuffix(file, ".yaml") {
				checkTools(t, m)
			} else {
				checkMTU(t, m)
			}
		})
	}
}

// checkTools checks that tools are there, and that nothing is installed while a trial runs.
func checkTools(t *testing.T, m *Machine) {
	t.Helper()
	if out, err := m.Run("sh", "-c", "sockperf --version && iperf3 --version"); err != nil {
		t.Errorf("tools are missing: %v\n%s", err, out)
	}
	for _, timer := range []string{"apt-daily.timer", "apt-daily-upgrade.timer"} {
		if out, err := m.Run("systemctl", "is-active", timer); err == nil {
			t.Errorf("%s is %s", timer, out)
		}
	}
}

// checkMTU checks that all machines have the same MTU (start.sh says why).
func checkMTU(t *testing.T, m *Machine) {
	t.Helper()
	if out, err := m.Run("cat", "/sys/class/net/host0/mtu"); strings.TrimSpace(out) != "8900" || err != nil {
		t.Errorf("the MTU is %s, %v", out, err)
	}
}

// A machine that is started after its time ends after a minute.
func TestMachineEndsItself(t *testing.T) {
	if requested() == "" {
		t.Skip("it takes 90 s: NEARFAR_BOOTS=all runs it")
	}
	m := NewNetwork(t).Start(Image{
		System: "debian", UserData: script(t, "azure-ppg/tofu/cloud-init.yaml", time.Now().Add(-time.Hour)),
	})
	m.Wait("sshd listens", within, func() bool { return m.Listens(22) })
	m.Wait("the machine is off", 3*time.Minute, m.Gone)
}

// A machine whose start never ends shuts itself down all the same: here, cloud-init runs a command that does not end.
func TestMachineThatHangsEndsItself(t *testing.T) {
	if requested() == "" {
		t.Skip("it takes 90 s: NEARFAR_BOOTS=all runs it")
	}
	text := script(t, "azure-ppg/tofu/cloud-init.yaml", time.Now().Add(-time.Hour))
	text = strings.Replace(text, "package_update:", "  - [sleep, infinity]\npackage_update:", 1)
	m := NewNetwork(t).Start(Image{System: "debian", UserData: text})
	m.Wait("the command runs", within, func() bool {
		out, _ := m.Run("pgrep", "-f", "sleep infinity") // it fails until then
		return out != ""
	})
	m.Wait("the machine is off", 3*time.Minute, m.Gone)
	if m.Listens(22) {
		t.Error("sshd answers: the command did not hold up the start")
	}
}

// A command at the start that waits for a timer never ends, since timers wait for the command: the test sees it.
func TestStartThatWaitsForItself(t *testing.T) {
	if requested() == "" {
		t.Skip("it takes a minute: NEARFAR_BOOTS=all runs it")
	}
	m := NewNetwork(t).Start(Image{System: "debian", UserData: `#cloud-config
bootcmd: [[systemd-run, --unit=end, --on-active=1h, systemctl, poweroff]]
`})
	m.Wait("systemd-run runs", within, func() bool {
		out, _ := m.Run("pgrep", "-f", "^systemd-run") // it fails until then
		return out != ""
	})
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		if m.Listens(22) {
			t.Fatal("sshd listens, although systemd-run waits")
		}
	}
}

// The labs' machines with cloud-init get the same file.
func TestMachinesOfLabsStartAlike(t *testing.T) {
	first := script(t, "azure-ppg/tofu/cloud-init.yaml", time.Time{})
	for _, lab := range []string{"azure-zones", "gcp-compact-placement"} {
		if script(t, lab+"/tofu/cloud-init.yaml", time.Time{}) != first {
			t.Errorf("labs/%s/tofu/cloud-init.yaml is not the file of azure-ppg, whose machines are started", lab)
		}
	}
}
