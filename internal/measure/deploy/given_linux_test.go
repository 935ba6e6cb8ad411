package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/hosts/local"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/daemon"
	"nearfar/internal/onhost/agentcli"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// TestMain makes this program the agent of local hosts, too.
func TestMain(m *testing.M) {
	verb := ""
	if len(os.Args) > 3 {
		verb = os.Args[1]
	}
	if len(os.Args) > 1 && os.Args[1] == hosttest.Verb {
		os.Exit(hosttest.Main(os.Args[1:]))
	}
	ran, err := imitate(verb)
	if ran {
		verb = "-"
	}
	switch verb {
	case "-":
	case local.Verb:
		err = daemon.Serve(context.Background(), daemon.Options{
			Folder: os.Args[4], Attached: true, Work: []string{"agent-work"},
		}, os.Stdin, os.Stdout)
	case "agent-work":
		err = daemon.Work(context.Background(), daemon.Options{
			Folder: os.Args[3], Change: func(o *agent.ServerOptions) {
				if os.Getenv(imitatedFacts) != "" {
					o.Counters = imitation().ReadCounters
				}
			},
		}, os.Stdin)
	case "engine":
		os.Exit(agentcli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case check.Verb:
		to := netip.MustParseAddr(os.Args[3])
		err = json.NewEncoder(os.Stdout).Encode(check.Read(context.Background(), check.Options{To: to}))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// deployed makes the hosts of arms between local hosts; each arm is "client server".
func deployed(t *testing.T, arms ...string) *Deployment {
	t.Helper()
	e := &experiment.Experiment{}
	for i, arm := range arms {
		client, server, _ := strings.Cut(arm, " ")
		e.Arms = append(e.Arms, experiment.Arm{Name: fmt.Sprint("arm", i), Client: client, Server: server})
		for _, name := range []string{client, server} {
			if _, ok := e.Host(name); !ok {
				e.Hosts = append(e.Hosts, experiment.HostSpec{
					Name: name, Local: true, Address: "127.0.0.1", Folder: t.TempDir(),
				})
			}
		}
	}
	d, err := Up(t.Context(), e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, h := range e.Hosts {
			if left, err := os.ReadDir(h.Folder); err != nil || len(left) > 0 {
				t.Errorf("%s left %v, %v", h.Name, left, err)
			}
		}
	})
	return d
}

// Each host has one agent for all arms, and the record names the hosts of each arm.
func TestHostsOfTheFile(t *testing.T) {
	d := deployed(t, "a b", "b a", "a a")
	hosts := d.Hosts()
	a, b := hosts["arm0"].Client, hosts["arm0"].Server
	if a == b || hosts["arm1"].Client != b || hosts["arm1"].Server != a || hosts["arm2"].Client != a ||
		hosts["arm2"].Server != a {
		t.Errorf("the arms do not share their hosts: %v", hosts)
	}
	if got := a.Endpoint(); got.Name != "a" || got.Dial.V4.String() != "127.0.0.1" || got.System.OS != "linux" {
		t.Errorf("the endpoint is %+v", got)
	}
	var record Record
	if err := json.Unmarshal(d.Facts(t.Context()), &record); err != nil {
		t.Fatal(err)
	}
	if record.Sides["arm1"] != (Sides{"b", "a"}) || len(record.Machines) != 2 || record.Machines["a"].Kernel == "" {
		t.Errorf("the record is %+v", record)
	}
}

// Two agents on one machine share its CPUs.
func TestPlacementsOnOneMachine(t *testing.T) {
	cpus, err := machine.CPUs()
	if err != nil {
		t.Fatal(err)
	}
	m := deployed(t, "a b").Hosts()["arm0"].Machines
	for _, kind := range []string{experiment.PlacementShared, experiment.PlacementSplit, experiment.PlacementFree} {
		p := experiment.Placement{Kind: kind}
		client, server, err := m.CPUs(p)
		wantClient, wantServer, wantErr := machine.Place(cpus, p)
		if !slices.Equal(client, wantClient) || !slices.Equal(server, wantServer) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", kind, client, server, err, wantClient, wantServer, wantErr)
		}
	}
	_, _, err = m.CPUs(experiment.Placement{Kind: experiment.PlacementExplicit, Client: []int{4000}, Server: cpus[:1]})
	if err == nil || !strings.Contains(err.Error(), "CPU 4000 of a") {
		t.Errorf("a CPU that does not exist: %v", err)
	}
}

// The CPU time of a trial's processes counts for them. On one machine with two agents the time of other programs is not
// known: each agent would count the other's processes as other programs.
func TestWatch(t *testing.T) {
	for arm, known := range map[string]bool{"a b": false, "a a": true} {
		hosts := deployed(t, arm).Hosts()["arm0"]
		_, end := hosts.Machines.Watch(t.Context(), nil, nil)
		work(t, hosts.Client)
		seen := end()
		c := seen.Contention
		if c.Window <= 0 || c.Client.Ran <= 0 || c.Client.Ran > c.Window*time.Duration(c.CPUs) {
			t.Errorf("%s: %+v", arm, c)
		}
		if _, ok := c.Others(); ok != known || c.MachineKnown != known {
			t.Errorf("%s: what others used is known: %v, %v; want %v", arm, ok, c.MachineKnown, known)
		}
		if !seen.StolenKnown || seen.Stolen < 0 || seen.Stolen > 1 {
			t.Errorf("%s: steal time %v, %v", arm, seen.Stolen, seen.StolenKnown)
		}
	}
}

// work runs a process that uses CPU time.
func work(t *testing.T, h host.Host) {
	t.Helper()
	p, err := h.Start(t.Context(), host.Cmd{
		Argv: []string{"sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

// The error names every host that cannot be reached, and the agents of the others end.
func TestUnreachableHosts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close() // connections are refused
	file := t.TempDir() + "/config"
	config := "Host first second\n  HostName 127.0.0.1\n  Port " + port + "\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	e := &experiment.Experiment{
		Hosts: []experiment.HostSpec{
			{Name: "a", Local: true, Folder: folder}, {Name: "b", SSH: "first"}, {Name: "c", SSH: "second"},
		},
		Arms: []experiment.Arm{{Name: "x", Client: "a", Server: "b"}, {Name: "y", Client: "a", Server: "c"}},
	}
	_, err = Up(t.Context(), e, Options{SSHConfig: file})
	if err == nil || !strings.Contains(err.Error(), "b: ssh first") || !strings.Contains(err.Error(), "c: ssh second") {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the agent of a left %v, %v", left, err)
	}
}

// TestSecondRunIsRefused: a run on hosts that another run measures is refused before it touches a port.
func TestSecondRunIsRefused(t *testing.T) {
	first, second := deployed(t, "a b", "b a"), deployed(t, "c d")
	port := 20000 + rand.IntN(10000)
	running := first.kinds[0].(*given)
	// Two hosts of a run can be one machine.
	ports := map[string][]int{"a": {port}, "b": {port}}
	if problems := running.reserve(t.Context(), agent.NewSession(), ports); len(problems) > 0 {
		t.Fatal(problems)
	}
	// A socket that holds the port shows that the second run does not try it.
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	at := netip.MustParseAddr("127.0.0.1")
	err = second.Preflight(t.Context(), []host.Traffic{{
		Arm: "arm0", Bind: at, Dial: at, Sockets: []host.Socket{{Protocol: "tcp", Port: port}},
	}})
	want := fmt.Sprintf("d: port %d: another run of nearfar uses it: wait for its end, or set 'port:'", port)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cannot be opened") {
		t.Errorf("says %v, want %q", err, want)
	}
}
