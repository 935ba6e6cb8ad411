package tls

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/kits/winetest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// said is what a process printed so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A windowsHost is an agent under Wine.
type windowsHost struct {
	*agent.Client
	// folder is where the agent makes its own folder, kill kills the agent.
	folder string
	kill   func()
}

// startWindows starts an agent and connects to it.
func startWindows(t *testing.T, w *winetest.Wine, program string, d Dials, name string, silence time.Duration,
) windowsHost {
	t.Helper()
	how, address := "--listen", "127.0.0.1:0"
	if d == AgentDials {
		how, address = "--dial", freeAddress(t)
	}
	folder := t.TempDir()
	cmd, lines, stderr := startAgent(t, w, program, how, address, winetest.OnWindows(folder))
	ended, killed := make(chan error, 1), false
	joinString := lines.Text()
	go func() {
		for lines.Scan() { // until it ends
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			if left, _ := filepath.Glob(filepath.Join(folder, "*")); (err != nil || len(left) > 0) && !killed {
				t.Errorf("the agent ended with %v, and left %q: %s", err, left, stderr)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("the agent does not end: %s", stderr)
		}
	})
	_, dialer := ownerOf(t, joinString)
	join, err := ParseJoin(joinString)
	if err != nil {
		t.Fatal(err)
	}
	c, err := agent.Connect(t.Context(), dialer, agent.Options{
		Name: name, Session: join.Session(), Silence: silence, Endpoint: hosttest.Loopback(t, name),
	})
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	t.Cleanup(func() { _ = c.Close() })
	return windowsHost{Client: c, folder: folder, kill: func() {
		killed = true
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}}
}

// startAgent starts an agent and reads its first line, the join string.
func startAgent(t *testing.T, w *winetest.Wine, program string, args ...string,
) (*exec.Cmd, *bufio.Scanner, *said) {
	t.Helper()
	cmd := exec.Command(w.Loader, append([]string{program, "agent"}, args...)...)
	cmd.Env = append(os.Environ(), w.Env...)
	stderr := new(said)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("no join string: %v\n%s", cmd.Wait(), stderr)
	}
	return cmd, lines, stderr
}

// TestWindowsOverTLS tests agents for Windows, under Wine. In the suite, the owner dials the client's agent, and the
// server's agent dials the owner. TestConformance runs the suite in each direction alone, where a process starts
// faster.
func TestWindowsOverTLS(t *testing.T) {
	t.Parallel()
	w := winetest.New(t)
	program := w.WithUDP(t, w.Build(t, "tls.test.exe", ".", true), "udp.exe")
	t.Run("conformance", func(t *testing.T) {
		t.Parallel()
		hosttest.Run(t, hosttest.Kind{
			Hosts: func(t *testing.T) (client, server host.Host) {
				return startWindows(t, w, program, OwnerDials, "client", 0).Host(),
					startWindows(t, w, program, AgentDials, "server", 0).Host()
			},
			Processes: true, Pinning: true, Files: true, IPv6: true,
			NoTCPOwner: true, // Wine 8: GetExtendedTcpTable gives 0 for listening sockets
		})
	})
	t.Run("facts", func(t *testing.T) {
		t.Parallel()
		checkWindowsFacts(t, w, program)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		checkWindowsKilled(t, w, program)
	})
}

func checkWindowsFacts(t *testing.T, w *winetest.Wine, program string) {
	c := startWindows(t, w, program, OwnerDials, "win", 0)
	f, err := c.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case f.System != host.System{OS: "windows", Arch: "amd64"}, f.Kernel == "", f.Release["ID"] != "windows",
		f.Model == "", len(f.CPUs) == 0, len(f.CPUs) != len(f.Allowed), f.Memory < 1<<28, f.Free <= 0, f.BootID == "",
		len(f.Addresses) == 0, f.User == "", f.Hostname == "":
		t.Errorf("the facts are not whole: %+v", f)
	}
	again, err := c.Facts(t.Context())
	if err != nil || again.BootID != f.BootID {
		t.Errorf("the kernel is %s, then %s: %v", f.BootID, again.BootID, err)
	}
	// The devices of the path, and what Windows counts for them.
	_, end := c.Watch(t.Context(), nil, netip.MustParseAddr("127.0.0.1"))
	p, err := c.Host().Start(t.Context(), host.Cmd{Argv: []string{host.Self, hosttest.Verb, "flood", "4000000"}})
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	side := end()
	if side.Window <= 0 || !side.Contention.OthersKnown || side.Contention.Ran <= 0 || side.Contention.DelayKnown {
		t.Errorf("of the time of a process is known: %+v", side)
	}
	if side.Counters == nil || len(side.Counters.Devices) == 0 || !side.Counters.Devices[0].Known ||
		side.Counters.Devices[0].Name == "" {
		t.Errorf("counted %+v", side.Counters)
	}
}

// checkWindowsKilled: when the agent is killed, all processes that it started end, and their output is removed.
func checkWindowsKilled(t *testing.T, w *winetest.Wine, program string) {
	c := startWindows(t, w, program, OwnerDials, "win", 2*time.Second)
	e := c.Host().Endpoint()
	at := netip.AddrPortFrom(e.Dial.V4, uint16(e.Port)).String()
	_, err := c.Host().Start(t.Context(), host.Cmd{
		Argv: []string{host.Self, hosttest.Verb, "tree", strconv.Itoa(e.Port)}, Stdout: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := func() bool {
		conn, err := net.DialTimeout("tcp", at, time.Second)
		if err != nil {
			return false
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
		return err == nil
	}
	waitFor(t, "the child to answer", answers)
	outputs := func() bool {
		found, err := filepath.Glob(filepath.Join(c.folder, "nearfar-agent-*", "temporary", "output-*"))
		return err != nil || len(found) > 0
	}
	if !outputs() {
		t.Error("no output is kept in " + c.folder)
	}
	c.kill()
	waitFor(t, "the child to end", func() bool { return !answers() })
	waitFor(t, "the output to be removed", func() bool { return !outputs() })
}
