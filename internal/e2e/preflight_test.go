//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"nearfar/internal/declare/rundir"
)

// fours counts the calls of freePorts, so that tests that run at the same time take different ports.
var fours atomic.Int32

// freePorts gives the first of four ports that nobody listens on, below the ports of clients: the kernel gives those to
// any program that asks, also between this and the moment at which the test uses them.
func freePorts(t *testing.T) int {
	t.Helper()
	const lowest, places = 21000, 2750
	for range places {
		first := lowest + 4*((os.Getpid()%100*32+int(fours.Add(1)))%places)
		var held []net.Listener
		for port := first; port < first+4; port++ {
			l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
			if err != nil {
				break
			}
			held = append(held, l)
		}
		for _, l := range held {
			_ = l.Close()
		}
		if len(held) == 4 {
			return first
		}
	}
	t.Fatal("no ports are free")
	return 0
}

// localHosts is an experiment between this machine and itself. The server has further values.
func localHosts(server string) string {
	return `
nearfar: v1
name: local
hosts:
  here: {local: {}, address: 127.0.0.1}
  there: {local: {}, ` + server + `}
baseline: one
arms:
  one: {client: here, server: there}
  two: {client: here, server: there}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 100ms, warmup: 20ms, placement: free}
  - {name: udp, tool: native, mode: rr, protocol: udp, duration: 100ms, warmup: 20ms, placement: free}
schedule: {blocks: 6, seed: 5}
`
}

// TestPreflight: ports that cannot be used stop a run before anything is measured, with all reasons.
func TestPreflight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server func(port int) string
		taken  bool
		says   []string
	}{
		"taken": {
			server: func(port int) string { return fmt.Sprintf("address: 127.0.0.1, port: %d", port) }, taken: true,
			says: []string{"there: TCP port %[1]d at 127.0.0.1 cannot be opened: tcp port %[1]d is taken by e2e.test " +
				fmt.Sprintf("(process %d)", os.Getpid())},
		},
		"another address": {
			server: func(port int) string { return fmt.Sprintf("address: 127.0.0.5, bind: 127.0.0.6, port: %d", port) },
			says: []string{"here does not reach there (127.0.0.5) on TCP %[1]d-%[2]d and UDP %[1]d: refused",
				"set 'address:' of there"},
		},
		"not an address of the host": {
			server: func(port int) string {
				return fmt.Sprintf("address: 127.0.0.1, bind: 192.0.2.77, port: %d", port)
			},
			says: []string{"there: TCP port %[1]d at 192.0.2.77 cannot be opened",
				"there: UDP port %[1]d at 192.0.2.77 cannot be opened"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := traces(t, "")
			port := freePorts(t)
			if c.taken {
				l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = l.Close() }()
			}
			dir := workspace(t)
			file := write(t, dir, localHosts(c.server(port)))
			cmd := exec.Command(program, "run", "--force", "--progress", "plain", file)
			cmd.Dir = dir
			mark := mark(t, cmd)
			out, err := cmd.CombinedOutput()
			if err == nil || cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("exit: %v", err)
			}
			said := string(out)
			for _, text := range append(c.says, "the hosts are not ready, and nothing was measured") {
				if strings.Contains(text, "%") {
					text = fmt.Sprintf(strings.ReplaceAll(text, "%[2]d", fmt.Sprint(port+1)), port)
				}
				if !strings.Contains(said, text) {
					t.Errorf("does not say %q:\n%s", text, said)
				}
			}
			if runs := glob(t, dir+"/runs/*"); len(runs) > 0 {
				t.Errorf("there is a run: %q", runs)
			}
			waitForTraces(t, mark, before)
		})
	}
}

// TestPreflightTimesOut: packets that vanish are told apart from those that are refused, and the message names the
// rules that would let them through. The address of the server has a neighbour that does not exist.
func TestPreflightTimesOut(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("makes a network namespace as root")
	}
	dir := workspace(t)
	text := strings.Replace(localHosts("address: 10.9.0.3, bind: 10.9.0.2"), "127.0.0.1", "10.9.0.1", 1)
	cmd := exec.Command("unshare", "-n", "sh", "-ec", `ip link set lo up
ip link add v0 type veth peer name v1
ip addr add 10.9.0.1/24 dev v0
ip addr add 10.9.0.2/24 dev v0
ip link set v0 up
ip link set v1 up
ip neigh add 10.9.0.3 lladdr 02:00:00:00:00:03 dev v0
exec "$0" run --force "$1"`, program, write(t, dir, text))
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	said := string(out)
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
	for _, want := range []string{
		"here does not reach there (10.9.0.3) on TCP 7777-7778 and UDP 7777: nothing came back within 5s (timed out)",
		"in a cloud: allow inbound TCP 7777-7778 and UDP 7777 from 10.9.0.1 in the security group",
		"on there: sudo ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("does not say %q:\n%s", want, said)
		}
	}
}

// TestPreflightFindsFilteredPorts: a packet filter on the server's machine drops one TCP port and refuses UDP. The
// message names these ports alone, and tells the two apart.
func TestPreflightFindsFilteredPorts(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("makes a network namespace as root")
	}
	dir := workspace(t)
	write(t, dir, localHosts("address: 127.0.0.1"))
	cmd := exec.Command("unshare", "-n", "sh", "-ec", `ip link set lo up
nft 'table inet filter { chain input { type filter hook input priority 0;
	tcp dport 7778 drop;
	udp dport 7777 reject with icmpx type port-unreachable; }; }'
exec "$0" run --force experiment.yaml`, program)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	said := string(out)
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
	for _, want := range []string{
		"here does not reach there (127.0.0.1) on TCP 7778: nothing came back within 5s (timed out)",
		"here does not reach there (127.0.0.1) on UDP 7777: refused",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "TCP 7777") {
		t.Errorf("names a port that is open:\n%s", said)
	}
}

// TestLostHostStopsTheRun: a run whose host dies stops at once, records the trial as failed with the reason, and can be
// resumed; then the trial is repeated. If one of the two processes of an agent is killed, the other one leaves nothing
// behind.
func TestLostHostStopsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, host, verb string }{
		{"keeper", "here", " agent-serve "},
		{"worker", "there", " agent-work "},
		{"both", "here", " agent-"}, // of the client: a server would go on
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := traces(t, "")
			r := &disturbedRun{dir: workspace(t)}
			server := fmt.Sprintf("address: 127.0.0.1, port: %d, folder: %s/there", freePorts(t), r.dir)
			client := "here: {local: {}, folder: " + r.dir + "/here"
			text := strings.Replace(localHosts(server), "here: {local: {}", client, 1)
			for _, host := range []string{"here", "there"} {
				if err := os.Mkdir(r.dir+"/"+host, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			r.cmd = exec.Command(program, "run", "--force", "--progress", "plain", write(t, r.dir, text))
			r.cmd.Dir = r.dir
			r.mark = mark(t, r.cmd)
			r.said = runUntil(t, r.cmd, "trial 3/24", func() {
				killed := 0
				for _, p := range marked(t, r.mark) {
					if !strings.Contains(p.line, c.verb) || !strings.Contains(p.line, r.dir+"/"+c.host+"/") {
						continue
					}
					killed++
					if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
				if want := 1 + strings.Count(c.name, "both"); killed != want {
					t.Errorf("%d processes were killed, not %d", killed, want)
				}
			})
			run := r.wantStopped(t, before, 1, 1, " "+c.host+" is lost: ", "was given up",
				"continue with: nearfar run --resume")
			if reasons := failures(t, run); !strings.Contains(reasons[0], c.host+" is lost: ") {
				t.Errorf("the failed trial says %q", reasons)
			}
			if left := glob(t, r.dir+"/*here/*"); c.name != "both" && len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			a := answerOf(t, nearfar(t, r.dir, nil, "run", "-f", "json", "--resume", run), "")
			count, failed := len(trials(t, a)), len(failures(t, run))
			if a.State != rundir.Complete || count != 25 || failed != 1 || a.Replaced != a.Failed {
				t.Errorf("after the resume the run is %s with %d trials, %d failed; all in all %d of %d were replaced",
					a.State, count, failed, a.Replaced, a.Failed)
			}
		})
	}
}
