package tls

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
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

// windowsHost starts an agent under Wine and connects to it.
func windowsHost(t *testing.T, w *winetest.Wine, program string, d Dials, name string) *agent.Client {
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
	ended := make(chan error, 1)
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
			if err != nil {
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
	c, err := agent.Connect(t.Context(), dialer, agent.Options{
		Name: name, Session: join.Session(), Endpoint: loopback(t, name),
	})
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConformanceWindows runs the suite on agents for Windows, under Wine, in both directions of dialling.
func TestConformanceWindows(t *testing.T) {
	t.Parallel()
	w := winetest.New(t)
	program := w.WithUDP(t, w.Build(t, "tls.test.exe", ".", true))
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			t.Parallel()
			hosttest.Run(t, hosttest.Kind{
				Hosts: func(t *testing.T) (client, server host.Host) {
					return windowsHost(t, w, program, d, "client").Host(), windowsHost(t, w, program, d, "server").Host()
				},
				Processes: true, Pinning: true, Files: true, IPv6: true,
				NoTCPOwner: true, // Wine 8: GetExtendedTcpTable gives 0 for listening sockets
			})
		})
	}
}
