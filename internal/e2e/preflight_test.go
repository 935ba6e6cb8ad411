//go:build linux

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"nearfar/internal/rundir"
)

// freePorts are the first of four ports that are most likely free: below the ports of clients.
func freePorts(t *testing.T) int {
	t.Helper()
	for first := 21000 + os.Getpid()%1000*8; first < 32000; first += 8 {
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
			server: func(port int) string { return fmt.Sprintf("address: 127.0.0.1, bind: 192.0.2.77, port: %d", port) },
			says: []string{"there: TCP port %[1]d at 192.0.2.77 cannot be opened", "there: UDP port %[1]d at 192.0.2.77 " +
				"cannot be opened"},
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
			cmd := exec.Command(program, "run", "--force", "--progress", "plain", write(t, dir, localHosts(c.server(port))))
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

// TestLostHostStopsTheRun: a run whose host dies stops at once, keeps no trial that was not carried out, says which host
// it was, and can be resumed.
func TestLostHostStopsTheRun(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"agent-serve", "agent-work"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			before := traces(t, "")
			r := &disturbedRun{dir: workspace(t)}
			file := write(t, r.dir, localHosts(fmt.Sprintf("address: 127.0.0.1, port: %d", freePorts(t))))
			r.cmd = exec.Command(program, "run", "--force", "--progress", "plain", file)
			r.cmd.Dir = r.dir
			r.mark = mark(t, r.cmd)
			r.said = runUntil(t, r.cmd, "trial 3/24", func() {
				// Both processes of one host's agent, which are parent and child.
				victims := processesOf(t, r.mark, verb)
				if len(victims) != 2 {
					t.Fatalf("%d processes run %s", len(victims), verb)
				}
				for _, p := range agentOf(t, r.mark, victims[0]) {
					if err := syscall.Kill(p, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			})
			run := r.wantInterrupted(t, before, 1, "here is lost: ", "was given up", "continue with: nearfar run --resume")
			a := answerOf(t, nearfar(t, r.dir, nil, "run", "-f", "json", "--resume", run), "")
			if a.State != rundir.Complete || a.Trials != 24 || a.Failed > 0 {
				t.Errorf("after the resume the run is %s with %d trials, %d failed", a.State, a.Trials, a.Failed)
			}
		})
	}
}

// agentOf lists the processes of the agent to which a process belongs, by their common folder.
func agentOf(t *testing.T, mark string, pid int) (pids []int) {
	t.Helper()
	folder := ""
	all := marked(t, mark)
	for _, p := range all {
		if _, after, ok := strings.Cut(p.line, "--folder "); ok && p.pid == pid {
			folder, _, _ = strings.Cut(after, " ")
		}
	}
	for _, p := range all {
		if folder != "" && strings.Contains(p.line, folder+" ") && strings.Contains(p.line, "agent-") {
			pids = append(pids, p.pid)
		}
	}
	if len(pids) != 2 {
		t.Fatalf("processes %v belong to the agent of process %d", pids, pid)
	}
	return pids
}
