//go:build linux

package agentcli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// relayed is an agent as a process of its own, behind its relay, as SSH would start it.
type relayed struct {
	t       *testing.T
	folder  string
	options agent.Options
	client  *agent.Client

	mu     sync.Mutex
	asleep bool // no connection is made any more
	relays []*exec.Cmd
}

func newRelayed(t *testing.T, name string, silence time.Duration) *relayed {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &relayed{
		t: t, folder: filepath.Join(dir, "a"),
		options: agent.Options{
			Name: name, Session: agent.NewSession(), Silence: silence, Endpoint: hosttest.Loopback(t, name),
		},
	}
	r.client, err = agent.Connect(t.Context(), r.dial, r.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.client.Close()
		r.wantNothing()
	})
	return r
}

// dial starts a relay.
func (r *relayed) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	r.mu.Lock()
	asleep := r.asleep
	r.mu.Unlock()
	if asleep {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, "--stdio", "--folder", r.folder)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.relays = append(r.relays, cmd)
	r.mu.Unlock()
	if _, err := r.options.Introduction(ctx).WriteTo(in); err != nil {
		return nil, err
	}
	return &pipes{WriteCloser: in, Reader: out, out: out, cmd: cmd}, nil
}

// cut kills the relays: the connection breaks.
func (r *relayed) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cmd := range r.relays {
		_ = cmd.Process.Kill()
	}
	r.relays = nil
}

// wantNothing waits until the agent's folder is gone, and no process with its path is left.
func (r *relayed) wantNothing() {
	r.t.Helper()
	wait(r.t, "the folder of the agent to go", func() bool {
		_, err := os.Stat(r.folder)
		return errors.Is(err, fs.ErrNotExist)
	})
	wait(r.t, "the processes of the agent to end", func() bool { return len(processesWith(r.folder)) == 0 })
}

// processesWith lists the processes that have the text on their command line or in their environment.
func processesWith(text string) (found []int) {
	files, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range files {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		pid, err := strconv.Atoi(filepath.Base(dir))
		has := bytes.Contains(line, []byte(text)) || bytes.Contains(env, []byte(text))
		if err == nil && pid != os.Getpid() && has {
			found = append(found, pid)
		}
	}
	return found
}

func wait(t *testing.T, what string, until func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !until(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

type pipes struct {
	io.Reader
	io.WriteCloser
	out  io.Closer
	cmd  *exec.Cmd
	once sync.Once
}

func (p *pipes) Close() error {
	p.once.Do(func() {
		_ = p.WriteCloser.Close()
		_ = p.out.Close()
		go func() { _ = p.cmd.Wait() }()
	})
	return nil
}

// TestConformance runs the suite on agents behind relays.
func TestConformance(t *testing.T) {
	hosts := func(t *testing.T) (client, server host.Host) {
		return newRelayed(t, "client", 0).client.Host(), newRelayed(t, "server", 0).client.Host()
	}
	hosttest.Run(t, hosttest.Kind{
		Hosts: hosts, Processes: true, Signals: true, Pinning: true, Files: true, IPv6: true,
	})
}

func self(words ...string) host.Cmd {
	return host.Cmd{Argv: append([]string{host.Self, hosttest.Verb}, words...)}
}

// firstLine starts a process and waits for its first line.
func firstLine(t *testing.T, h host.Host, c host.Cmd) (host.Process, string) {
	t.Helper()
	r, w := io.Pipe()
	c.Stdout = w
	p, err := h.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return p, strings.TrimSpace(string(line[:n]))
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && unix.Kill(n, 0) == nil
}

// TestKilled: whichever process of an agent is killed, nothing of it is left, not even a process that left its session
// and cleared its environment.
func TestKilled(t *testing.T) {
	for _, victim := range []string{"serve", "agent-work"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			r := newRelayed(t, "host", 2*time.Second)
			put := filepath.Join(filepath.Dir(r.folder), "put", "deep", "file")
			if err := r.client.Host().Put(t.Context(), put, 0o600, strings.NewReader("content")); err != nil {
				t.Fatal(err)
			}
			p, child := firstLine(t, r.client.Host(), self("tree"))
			_, daemon := firstLine(t, r.client.Host(), host.Cmd{Argv: []string{
				"env", "-i", "setsid", "--wait", "sh", "-c",
				`(trap "" TERM HUP; while :; do /bin/sleep 1; done) </dev/null >/dev/null 2>&1 & echo $!`,
			}})
			for _, pid := range processesWith(r.folder) {
				line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
				if bytes.Contains(line, []byte("\x00"+victim+"\x00")) {
					if err := unix.Kill(pid, unix.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, pid := range []string{child, daemon} {
				wait(t, "process "+pid+" to end", func() bool { return !alive(pid) })
			}
			if err := p.Wait(); !errors.Is(err, host.ErrLost) {
				var exit *host.ExitError // the worker may have reported the end before it ended
				if victim == "agent-work" || !errors.As(err, &exit) {
					t.Errorf("a process whose agent was killed gives %v", err)
				}
			}
			r.wantNothing()
			if _, err := os.Stat(filepath.Dir(filepath.Dir(put))); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file that was put is still there: %v", err)
			}
		})
	}
}

// TestSilence: an agent whose owner is silent ends with everything, also a daemon without its environment.
func TestSilence(t *testing.T) {
	r := newRelayed(t, "host", time.Second)
	put := filepath.Join(filepath.Dir(r.folder), "file")
	if err := r.client.Host().Put(t.Context(), put, 0o600, strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	_, child := firstLine(t, r.client.Host(), self("tree"))
	_, daemon := firstLine(t, r.client.Host(), host.Cmd{Argv: []string{"env", "-i", "setsid", "--wait", "sh", "-c",
		`(trap "" TERM HUP; while :; do /bin/sleep 1; done) </dev/null >/dev/null 2>&1 & echo $!`}})
	r.mu.Lock()
	r.asleep = true
	for _, cmd := range r.relays { // the owner's machine sleeps
		if err := cmd.Process.Signal(unix.SIGSTOP); err != nil {
			t.Error(err)
		}
	}
	r.mu.Unlock()
	for _, pid := range []string{child, daemon} {
		wait(t, "process "+pid+" to end", func() bool { return !alive(pid) })
	}
	r.cut()
	r.wantNothing()
	if _, err := os.Stat(put); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file that was put is still there: %v", err)
	}
}

// TestReconnect: the agent keeps running while there is no connection, and no output is lost.
func TestReconnect(t *testing.T) {
	r := newRelayed(t, "host", 20*time.Second)
	var stdout bytes.Buffer
	p, err := r.client.Host().Start(t.Context(), host.Cmd{
		Argv:   []string{"sh", "-c", `for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; exit 7`},
		Stdout: &stdout,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.cut()
	var exit *host.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Code != 7 || stdout.String() != "1\n2\n3\n4\n5\n6\n7\n8\n" {
		t.Errorf("it ended with %v after %q", err, &stdout)
	}
}
