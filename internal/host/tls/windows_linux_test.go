package tls

import (
	"bufio"
	"bytes"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"nearfar/internal/agent"
	"nearfar/internal/host"
	"nearfar/internal/host/hosttest"
	"nearfar/internal/winetest"
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

// windowsHost starts an agent under Wine and connects to it. kill kills the agent.
func windowsHost(t *testing.T, w *winetest.Wine, program string, d Dials, name string, silence time.Duration,
) (c *agent.Client, kill func()) {
	t.Helper()
	how, address := "--listen", "127.0.0.1:0"
	if d == AgentDials {
		how, address = "--dial", freeAddress(t)
	}
	cmd := exec.Command(w.Loader, program, "agent", how, address)
	cmd.Env = append(os.Environ(), w.Env...)
	var stderr said
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended, killed := make(chan error, 1), false
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("no join string: %v\n%s", cmd.Wait(), &stderr)
	}
	go func() {
		for lines.Scan() { // until it ends
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			if err != nil && !killed {
				t.Errorf("the agent ended with %v: %s", err, &stderr)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("the agent does not end: %s", &stderr)
		}
	})
	_, dialer := ownerOf(t, lines.Text())
	join, err := ParseJoin(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	c, err = agent.Connect(t.Context(), dialer, agent.Options{
		Name: name, Session: join.Session(), Silence: silence, Endpoint: loopback(t, name),
	})
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, func() {
		killed = true
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
}

// TestWindows tests agents for Windows, under Wine.
func TestWindows(t *testing.T) {
	t.Parallel()
	w := winetest.New(t)
	program := w.WithUDP(t, w.Build(t, "tls.test.exe", ".", true), "udp.exe")
	for _, d := range directions() {
		t.Run("conformance, "+d.name(), func(t *testing.T) {
			t.Parallel()
			hosttest.Run(t, hosttest.Kind{
				Hosts: func(t *testing.T) (client, server host.Host) {
					c, _ := windowsHost(t, w, program, d, "client", 0)
					s, _ := windowsHost(t, w, program, d, "server", 0)
					return c.Host(), s.Host()
				},
				Processes: true, Pinning: true, Files: true, IPv6: true,
				NoTCPOwner: true, // Wine 8: GetExtendedTcpTable gives 0 for listening sockets
			})
		})
	}
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
	c, _ := windowsHost(t, w, program, OwnerDials, "win", 0)
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
	end := c.Watch(nil)
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
}

// checkWindowsKilled: when the agent is killed, all processes that it started end.
func checkWindowsKilled(t *testing.T, w *winetest.Wine, program string) {
	c, kill := windowsHost(t, w, program, OwnerDials, "win", 2*time.Second)
	e := c.Host().Endpoint()
	at := netip.AddrPortFrom(e.Dial.V4, uint16(e.Port)).String()
	_, err := c.Host().Start(t.Context(), host.Cmd{Argv: []string{host.Self, hosttest.Verb, "tree", strconv.Itoa(e.Port)}})
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
	kill()
	waitFor(t, "the child to end", func() bool { return !answers() })
}
