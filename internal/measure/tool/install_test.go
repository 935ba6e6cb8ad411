package tool

import (
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// The first lines of /etc/os-release of real systems.
const (
	debian12 = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n"
	ubuntu24 = "PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\nID_LIKE=debian\n"
	mint     = "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n"
	fedora   = "NAME=\"Fedora Linux\"\nID=fedora\n"
	rocky9   = "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"
	amazon   = "NAME=\"Amazon Linux\"\nVERSION=\"2023\"\nID=\"amzn\"\nID_LIKE=\"fedora\"\n"
	azure    = "NAME=\"Microsoft Azure Linux\"\nID=azurelinux\n"
	mariner  = "NAME=\"Common Base Linux Mariner\"\nID=mariner\n"
	leap     = "NAME=\"openSUSE Leap\"\nID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n"
	sles     = "NAME=\"SLES\"\nID=\"sles\"\nID_LIKE=\"suse\"\n"
	arch     = "NAME=\"Arch Linux\"\nID=arch\n"
	alpine   = "NAME=\"Alpine Linux\"\nID=alpine\n"
)

func TestHowToInstall(t *testing.T) {
	on := func(system string) host.System { return host.System{OS: system, Arch: "amd64"} }
	for _, c := range []struct{ tool, system, release, want string }{
		{"sockperf", linux, debian12, "sudo apt-get install sockperf"},
		{"sockperf", linux, ubuntu24, "sudo apt-get install sockperf (from universe)"},
		{"sockperf", linux, fedora, "sudo dnf install sockperf"},
		{"sockperf", linux, amazon,
			"no package for Amazon Linux is known; build it from https://github.com/Mellanox/sockperf"},
		{"sockperf", windows, "", "it runs on Linux only"},
		{"netperf", linux, debian12, "sudo apt-get install netperf (up to Debian 12 from non-free)"},
		{"netperf", linux, mint, "sudo apt-get install netperf (from multiverse)"},
		{"netperf", linux, rocky9, "sudo dnf install netperf (from EPEL: sudo dnf install epel-release)"},
		{"netperf", linux, arch, "sudo pacman -S netperf"},
		{"iperf3", linux, amazon, "sudo dnf install iperf3"},
		{"iperf3", linux, azure, "sudo tdnf install iperf3"},
		{"iperf3", linux, mariner, "sudo tdnf install iperf3"},
		{"iperf3", linux, leap, "sudo zypper install iperf"},
		{"iperf3", linux, sles, "sudo zypper install iperf"},
		{"iperf3", linux, alpine, "sudo apk add iperf3"},
		{"iperf3", windows, "", "get it from https://iperf.fr/iperf-download.php"},
		{"ping", linux, ubuntu24, "sudo apt-get install iputils-ping"},
		{"ping", windows, "", `it is a part of Windows (C:\Windows\System32\PING.EXE)`},
		{"qperf", linux, azure, "sudo tdnf install qperf (after sudo tdnf install azurelinux-repos-extended)"},
		{"ntttcp", linux, ubuntu24,
			"no package for Ubuntu is known; build it from https://github.com/microsoft/ntttcp-for-linux"},
		{"latte", linux, debian12, "it runs on Windows only"},
		{"latte", windows, "", "get it from https://github.com/microsoft/latte/releases"},
		{"sockperf", "darwin", "", "it runs on Linux only"},
		{"ntttcp", "darwin", "", "it runs on Linux and Windows only"},
		{"telnet", linux, debian12, ""},
		// What is not known, or not readable, or hostile.
		{"sockperf", linux, "", "get it from https://github.com/Mellanox/sockperf"},
		{"sockperf", linux, "ID=gobolinux\nNAME=\"\x1b[31mred\"\n", "get it from https://github.com/Mellanox/sockperf"},
		{"sockperf", linux, "ID='debian'\r\nID_LIKE=\n", "sudo apt-get install sockperf"},
		{"sockperf", linux, strings.Repeat("ID=x\n", 100000), "get it from https://github.com/Mellanox/sockperf"},
	} {
		if got := HowToInstall(c.tool, on(c.system), c.release); got != c.want {
			t.Errorf("%s on %s, %.40q:\n%s, not\n%s", c.tool, c.system, c.release, got, c.want)
		}
	}
}

// Every tool that is run says on which systems it runs and where it comes from on each.
func TestEveryToolSaysWhereItComesFrom(t *testing.T) {
	for _, p := range programs() {
		if isOnlyRead(p.declared.Name) {
			continue
		}
		if len(p.install.on) == 0 {
			t.Errorf("%s runs on no system", p.declared.Name)
		}
		for _, system := range p.install.on {
			for _, release := range []string{"", debian12, ubuntu24, fedora, rocky9, amazon, azure, leap, arch, alpine} {
				if how := p.install.how(system, release); how == "" || strings.HasSuffix(how, " ") {
					t.Errorf("%s on %s, %.20q: %q", p.declared.Name, system, release, how)
				}
			}
		}
		if p.declared.Systems == "" {
			t.Errorf("%s: the documentation names no system", p.declared.Name)
		}
	}
}

// A plan refuses hosts with a system on which the tool does not run, and says which host it is.
func TestPlansForOtherSystems(t *testing.T) {
	onSystems := func(client, server string) host.Pair {
		pair := at("10.0.0.2")
		pair.Client.System.OS, pair.Server.System.OS = client, server
		return pair
	}
	rr := experiment.Workload{Name: "w1", Mode: "rr", Protocol: "tcp", Request: 64, Response: 64, Duration: 1e9}
	stream := experiment.Workload{Name: "w1", Mode: "stream", Protocol: "tcp", Duration: 1e9}
	for _, c := range []struct {
		tool           Tool
		w              experiment.Workload
		client, server string
		want           string
	}{
		{NewLatte(), rr, windows, windows, ""},
		{NewLatte(), rr, windows, linux, "workload w1: latte runs on Windows, and server is linux"},
		{NewLatte(), rr, linux, windows, "workload w1: latte runs on Windows, and client is linux"},
		{NewSockperf(), rr, linux, windows, "workload w1: sockperf runs on Linux, and server is windows"},
		{NewSockperf(), rr, linux, linux, ""},
		{NewSockperf(), rr, "", "", ""},
		{NewNtttcp(), stream, windows, linux, ""},
		{NewNtttcp(), stream, linux, "freebsd", "workload w1: ntttcp runs on Linux and Windows, and server is freebsd"},
		{NewIperf3(), stream, windows, linux, ""},
	} {
		_, err := c.tool.Plan(c.w, onSystems(c.client, c.server))
		if got := errorText(err); got != c.want {
			t.Errorf("%s from %s to %s: %q, want %q", c.tool.Name(), c.client, c.server, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The programs of a plan and of a probe get the paths of their host.
func TestPathsOfPrograms(t *testing.T) {
	plan, err := NewNetperf().Plan(experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 1, Response: 1,
		Duration: 1e9}, at("10.0.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	client, server := plan.Client.Argv[0], plan.Server.Argv[0]
	found := plan.At(map[string]string{"netperf": "/opt/np/netperf"}, map[string]string{"netserver": "/srv/netserver"})
	if found.Client.Argv[0] != "/opt/np/netperf" || found.Server.Argv[0] != "/srv/netserver" ||
		found.Client.Argv[1] != plan.Client.Argv[1] {
		t.Errorf("%q, %q", found.Client.Argv, found.Server.Argv)
	}
	if plan.Client.Argv[0] != client || plan.Server.Argv[0] != server {
		t.Errorf("the plan itself was changed: %q, %q", plan.Client.Argv, plan.Server.Argv)
	}
	if same := plan.At(nil, nil); same.Client.Argv[0] != client || same.Server.Argv[0] != server {
		t.Errorf("%q, %q", same.Client.Argv, same.Server.Argv)
	}
	probe := NewNetperf().Probe().At(map[string]string{"netperf": "/opt/np/netperf"})
	if strings.Join(probe.Programs, " ") != "/opt/np/netperf netserver" || probe.Argv[0] != "/opt/np/netperf" {
		t.Errorf("%q, %q", probe.Programs, probe.Argv)
	}
	if probe := NewLatte().Probe().At(map[string]string{"latte": `C:\tools\latte.exe`}); probe.Argv != nil ||
		probe.Programs[0] != `C:\tools\latte.exe` {
		t.Errorf("%q, %q", probe.Programs, probe.Argv)
	}
}
