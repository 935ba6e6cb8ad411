package agentcli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/agent/tls"
	"nearfar/internal/onhost/host"
)

// joined is `nearfar-agent agent` as a process of its own.
type joined struct {
	t      *testing.T
	cmd    *exec.Cmd
	folder string // its TMPDIR
	join   tls.Join
	ended  chan error

	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write receives standard error.
func (j *joined) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stderr.Write(b)
}

func (j *joined) said() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stderr.String()
}

func startJoined(t *testing.T, args ...string) *joined {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j := &joined{t: t, folder: t.TempDir(), ended: make(chan error, 1)}
	j.cmd = exec.Command(self, append([]string{"agent"}, args...)...)
	j.cmd.Env = append(os.Environ(), "TMPDIR="+j.folder)
	j.cmd.Stderr = j
	out, err := j.cmd.StdoutPipe()
	if err == nil {
		err = j.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("no join string; it said %s", j.said())
	}
	if j.join, err = tls.ParseJoin(lines.Text()); err != nil {
		t.Fatal(err)
	}
	go func() {
		more := 0
		for lines.Scan() {
			more++
		}
		err := j.cmd.Wait()
		if more > 0 {
			err = fmt.Errorf("%d more lines on standard output, %w", more, err)
		}
		j.ended <- err
	}()
	return j
}

// connect connects to the agent as a run does.
func (j *joined) connect() *agent.Client {
	j.t.Helper()
	owner, err := tls.NewOwner(j.t.Context())
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { _ = owner.Close() })
	dial, err := owner.Dialer(j.join)
	if err != nil {
		j.t.Fatal(err)
	}
	c, err := agent.Connect(j.t.Context(), dial, agent.Options{
		Name: "far", Session: j.join.Session(), Silence: 3 * time.Second,
	})
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { _ = c.Close() })
	return c
}

// wantEnd waits for the end of the process, and wants nothing left of it.
func (j *joined) wantEnd(code int) {
	j.t.Helper()
	select {
	case err := <-j.ended:
		var exit *exec.ExitError
		got := 0
		if errors.As(err, &exit) {
			got = exit.ExitCode()
		} else if err != nil {
			j.t.Error(err)
		}
		if got != code {
			j.t.Errorf("exit code %d, want %d; it said %s", got, code, j.said())
		}
	case <-time.After(30 * time.Second):
		j.t.Fatalf("it does not end; it said %s", j.said())
	}
	j.wantNothing()
}

func (j *joined) wantNothing() {
	j.t.Helper()
	wait(j.t, "all processes to end", func() bool { return len(processesWith(j.folder)) == 0 })
	wait(j.t, "all files to go", func() bool {
		files, _ := filepath.Glob(filepath.Join(j.folder, "*"))
		return len(files) == 0
	})
}

// freePort is a port that nobody uses now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// server starts the engine's server, which runs until it is ended.
func server(t *testing.T, h host.Host, port int) host.Process {
	t.Helper()
	p, err := h.Start(t.Context(), host.Cmd{
		Argv: []string{host.Self, "engine", "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--secret-stdin"},
		Env:  []string{"GODEBUG=asyncpreemptoff=1"}, Stdin: []byte("0123456789abcdef0123456789abcdef\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := p.Serves(ctx, "tcp", port); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestJoin lets a run measure through an agent, in both directions of dialling. The agent refuses commands that do not
// measure, and ends with the run.
func TestJoin(t *testing.T) {
	for _, args := range [][]string{
		{"--listen", "127.0.0.1:0"}, {"--dial", fmt.Sprintf("127.0.0.1:%d", freePort(t))},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			j := startJoined(t, append(args, "--peers", "127.0.0.0/8")...)
			c := j.connect()
			h, port := c.Host(), freePort(t)
			s := server(t, h, port)
			var out bytes.Buffer
			p, err := h.Start(t.Context(), host.Cmd{
				Argv: []string{host.Self, "engine", "rr", fmt.Sprintf("127.0.0.1:%d", port), "-f", "json",
					"--secret-stdin", "--duration", "50ms", "--warmup", "0s"},
				Stdin: []byte("0123456789abcdef0123456789abcdef\n"), Stdout: &out,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Wait(); err != nil || !strings.Contains(out.String(), `"rtt"`) {
				t.Errorf("the engine printed %q, %v", &out, err)
			}
			if err := s.Stop(time.Second); err != nil {
				t.Error(err)
			}
			for _, refused := range []host.Cmd{
				{Argv: []string{"sh", "-c", "id"}},
				{Argv: []string{"/bin/sh"}},
				{Argv: []string{host.Self, "agent-work", "--folder", "/tmp"}},
				{Argv: []string{host.Self, "version"}, Env: []string{"LD_PRELOAD=/tmp/x.so"}},
				{Argv: []string{"ping", "-c", "1", "192.0.2.1"}}, // not among the peers
			} {
				_, err := h.Start(t.Context(), refused)
				if err == nil || !strings.Contains(err.Error(), "the agent refuses") {
					t.Errorf("%q: %v", refused.Argv, err)
				}
			}
			if err := h.Put(t.Context(), "x", 0o644, strings.NewReader("x")); err == nil ||
				!strings.Contains(err.Error(), "takes no files") {
				t.Errorf("put: %v", err)
			}
			server(t, h, port) // the end of the run ends it
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			j.wantEnd(0)
			said := j.said()
			if strings.Contains(said, j.join.Encode()[20:]) || !strings.Contains(said, "the run is over") {
				t.Errorf("it said %s", said)
			}
		})
	}
}

// childOf is the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var children []string
	for _, path := range threads {
		of, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, strings.Fields(string(of))...)
	}
	if len(children) != 1 {
		t.Fatalf("the children of %d are %q, want one", pid, children)
	}
	child, err := strconv.Atoi(children[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// TestJoinIsKilled: whichever process of the agent is killed, no process of it is left.
func TestJoinIsKilled(t *testing.T) {
	for _, victim := range []string{"keeper", "worker"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			j := startJoined(t, "--listen", "127.0.0.1:0")
			c := j.connect()
			p := server(t, c.Host(), freePort(t))
			pid := j.cmd.Process.Pid
			if victim == "worker" {
				pid = childOf(t, pid)
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := <-j.ended; err == nil {
				t.Error("a killed agent ended with exit code 0")
			}
			j.wantNothing()
			if err := p.Stop(0); victim == "worker" && err != nil && !errors.Is(err, host.ErrLost) {
				t.Errorf("a process of an agent that was killed: %v", err)
			}
		})
	}
}

// TestJoinIsInterrupted: Ctrl-C, which a terminal sends to all processes, ends the agent with all that it started.
func TestJoinIsInterrupted(t *testing.T) {
	j := startJoined(t, "--listen", "127.0.0.1:0")
	server(t, j.connect().Host(), freePort(t))
	if err := j.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	j.wantEnd(exitInterrupted)
}

func TestJoinUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"say who dials":                     {},
		"give --listen or --dial, not both": {"--listen", "127.0.0.1:0", "--dial", "192.0.2.1:1"},
		"--address needs --listen":          {"--dial", "192.0.2.1:1", "--address", "x:1"},
		"--expires 1s: want 1m0s":           {"--listen", "127.0.0.1:0", "--expires", "1s"},
		"--idle 1s: want 10s":               {"--listen", "127.0.0.1:0", "--idle", "1s"},
		`--listen "localhost": want`:        {"--listen", "localhost"},
		`--listen "localhost:1": want`:      {"--listen", "localhost:1"},
		"--dial: address":                   {"--dial", "192.0.2.1"},
		"--dial: address ":                  {"--dial", "192.0.2.1:0"},
		"--address: address":                {"--listen", ":0", "--address", "0.0.0.0:1"},
		`--peers "10.0.0.0/33": want`:       {"--listen", ":0", "--peers", "10.0.0.0/33"},
		`--peers "host": want`:              {"--listen", ":0", "--peers", "host"},
		`--path "a:b": want one folder`:     {"--listen", ":0", "--path", "a:b"},
		`unknown command "x"`:               {"--listen", ":0", "x"},
	} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		code := Main(append([]string{"agent"}, args...), nil, in, in)
		_ = in.Close() // so that reading ends
		var said bytes.Buffer
		if _, err := said.ReadFrom(out); err != nil {
			t.Fatal(err)
		}
		if code != exitUsage || !strings.Contains(said.String(), strings.TrimSpace(want)) {
			t.Errorf("%q: exit code %d, %s; want %q", args, code, &said, want)
		}
	}
}

// TestJoinIsReleased: an owner that releases the agent leaves nothing there, and its join string is good for another
// one at once, until an owner uses it.
func TestJoinIsReleased(t *testing.T) {
	for _, args := range [][]string{
		{"--listen", "127.0.0.1:0"}, {"--dial", fmt.Sprintf("127.0.0.1:%d", keptPort(t))},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			j := startJoined(t, append(args, "--idle", "10s")...)
			const released = 8
			for range released {
				c, leave := j.connectReleasing()
				server(t, c.Host(), freePort(t))
				leave()
				if !c.Released() {
					t.Fatal("the agent was not released")
				}
				if kept, _ := filepath.Glob(filepath.Join(j.folder, "nearfar-agent-*", "*")); len(kept) > 0 {
					t.Errorf("the owner left %q", kept)
				}
			}
			c, leave := j.connectReleasing()
			server(t, c.Host(), freePort(t))
			c.Use()
			leave()
			if c.Released() {
				t.Error("an agent that was used was released")
			}
			j.wantEnd(0)
			if said := j.said(); strings.Count(said, "the join string stays good until") != released {
				t.Errorf("it said %s", said)
			}
		})
	}
}

// keptPort is a free port on which a test can listen more than once: the kernel gives none of these to a connection in
// between.
func keptPort(t *testing.T) int {
	t.Helper()
	const first, count, tries = 10_000, 20_000, 100 // below net.ipv4.ip_local_port_range
	for range tries {
		port := first + rand.IntN(count)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// connectReleasing connects to the agent as a run that has not measured yet. leave closes the connection.
func (j *joined) connectReleasing() (c *agent.Client, leave func()) {
	j.t.Helper()
	owner, err := tls.NewOwner(j.t.Context())
	if err != nil {
		j.t.Fatal(err)
	}
	dial, err := owner.Dialer(j.join)
	if err != nil {
		j.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(j.t.Context(), 30*time.Second)
	defer cancel()
	c, err = agent.Connect(ctx, dial, agent.Options{
		Name: "far", Session: j.join.Session(), Silence: 3 * time.Second, Releases: true,
	})
	if err != nil {
		j.t.Fatal(err)
	}
	return c, func() {
		if err := errors.Join(c.Close(), owner.Close()); err != nil {
			j.t.Error(err)
		}
	}
}
