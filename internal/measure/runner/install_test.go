package runner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// elsewhere is a fake host with another endpoint.
type elsewhere struct {
	*fake.Host
	endpoint host.Endpoint
}

func (e *elsewhere) Endpoint() host.Endpoint { return e.endpoint }

// lacking makes a host that lacks the programs, with these lines of its os-release.
func lacking(name, system, release string, programs ...string) *elsewhere {
	self := func(_ context.Context, argv []string, _ []byte, stdout, _ io.Writer) int {
		for _, asked := range argv[2:] {
			for _, program := range programs {
				if argv[1] == "absent" && asked == program {
					fmt.Fprintln(stdout, asked)
				}
			}
		}
		return 0
	}
	h := fake.New(name, map[string]fake.Program{host.Self: self})
	endpoint := h.Endpoint()
	endpoint.System, endpoint.Release = host.System{OS: system}, release
	return &elsewhere{h, endpoint}
}

// An error names all tools that are missing, on all hosts, with the command that installs each.
func TestMissingToolsSayHowToInstall(t *testing.T) {
	e := &experiment.Experiment{
		Name: "x", Arms: []experiment.Arm{
			{Name: "a", Lab: &experiment.Lab{}}, {Name: "b", Lab: &experiment.Lab{MTU: 1}},
		},
		Workloads: []experiment.Workload{
			{Name: "rr", Tool: "sockperf", Mode: experiment.RR, Protocol: experiment.TCP},
			{Name: "crr", Tool: "netperf", Mode: experiment.CRR, Protocol: experiment.TCP},
			{Name: "latte", Tool: "latte", Mode: experiment.RR, Protocol: experiment.TCP},
		},
	}
	const debian, rocky = "ID=debian\n", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"
	vmA := lacking("vm-a", "linux", debian, "sockperf", "netserver", "latte")
	vmB := lacking("vm-b", "linux", rocky, "sockperf", "netperf", "netserver", "latte")
	win := lacking("win", "windows", "", "sockperf", `C:\tools\latte.exe`)
	win.endpoint.Tools = map[string]string{"latte": `C:\tools\latte.exe`}
	hosts := map[string]host.Hosts{
		"a": {Client: vmA, Server: vmB, Machines: &scene{}}, "b": {Client: vmA, Server: win, Machines: &scene{}},
	}
	all := tools{tool.NewSockperf(), tool.NewNetperf(), tool.NewLatte()}
	err := New(e, all, hosts, DefaultLimits(), nil).Prepare(context.Background())
	if err == nil {
		t.Fatal("no error")
	}
	want := `programs are missing, and nothing was measured:
  latte is not installed (needed by latte)
  netperf is not installed on vm-b (needed by crr)
  sockperf is not installed (needed by rr)
How to install them:
  latte on vm-a, vm-b: it runs on Windows only
  latte on win: get it from https://github.com/microsoft/latte/releases
  netperf on vm-a: sudo apt-get install netperf (up to Debian 12 from non-free)
  netperf on vm-b: sudo dnf install netperf (from EPEL: sudo dnf install epel-release)
  sockperf on vm-a: sudo apt-get install sockperf
  sockperf on vm-b: sudo dnf install sockperf
  sockperf on win: it runs on Linux only
Install them, or mark the workload ` + "`optional: true`" + ` to go on without it.`
	if err.Error() != want {
		t.Errorf("%v\nwant:\n%s", err, want)
	}
}

// A command runs the program at its path on the host, and the record has that path.
func TestProgramsAtTheirPaths(t *testing.T) {
	s := &scene{client: prints("0.5")}
	e := twoArms(1)
	e.Arms = e.Arms[:1]
	var client, server *fake.Host
	at := func(name, program, path string, found fake.Program) *elsewhere {
		// Both hosts are asked for the version.
		h := fake.New(name, map[string]fake.Program{host.Self: prints(""), "clock": prints("0.5"), path: found})
		if name == "client" {
			client = h
		} else {
			server = h
		}
		endpoint := h.Endpoint()
		endpoint.Tools = map[string]string{program: path}
		return &elsewhere{h, endpoint}
	}
	serve := func(ctx context.Context, _ []string, _ []byte, _, _ io.Writer) int {
		s.serve(ctx, 7)
		return 0
	}
	hosts := map[string]host.Hosts{"a": {
		Client:   at("client", "clock", "/opt/clock", prints("0.5")),
		Server:   at("server", "clockd", "/srv/clockd", serve),
		Machines: s,
	}}
	k := &kept{raw: map[string]string{}}
	r := New(e, tools{clocked{}}, hosts, DefaultLimits(), nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(k.trials[0].Commands, "; "); got != "/srv/clockd; /opt/clock w" || k.trials[0].Error != "" {
		t.Errorf("%s, %s", got, k.trials[0].Error)
	}
	if r.Versions()["clocked"] != "0.5" || len(client.Started()) == 0 || len(server.Started()) == 0 {
		t.Errorf("versions %v", r.Versions())
	}
}

// If a tool cannot do something between the hosts, the error comes before anything is measured, and names each reason
// once.
func TestPlansAreCheckedFirst(t *testing.T) {
	e := twoArms(1)
	e.Workloads = []experiment.Workload{
		{Name: "echo", Tool: "ping", Mode: experiment.Ping, Protocol: experiment.ICMP, Request: 56,
			Duration: 1e9, Interval: 1e7},
		{Name: "rr", Tool: "sockperf", Mode: experiment.RR, Protocol: experiment.TCP, Request: 64,
			Response: 64, Duration: 1e9},
	}
	hosts := map[string]host.Hosts{}
	for _, arm := range e.Arms {
		hosts[arm.Name] = host.Hosts{
			Client: lacking("win", "windows", ""), Server: lacking("vm", "linux", ""), Machines: &scene{},
		}
	}
	err := New(e, tools{quiet{tool.NewPing()}, quiet{tool.NewSockperf()}}, hosts, DefaultLimits(), nil).Prepare(
		t.Context())
	want := `workloads cannot be run, and nothing was measured:
  workload echo: ping of Windows sends one request each second: write interval: 1s
  workload rr: sockperf runs on Linux, and win is windows`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant:\n%s", err, want)
	}
}

// quiet is a tool without programs to look for.
type quiet struct{ tool.Tool }

func (quiet) Probe() tool.Probe { return tool.Probe{} }
