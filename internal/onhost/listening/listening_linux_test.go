package listening

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

func listen(t *testing.T, protocol, address string) int {
	t.Helper()
	if protocol == "udp" {
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c.LocalAddr().(*net.UDPAddr).Port
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func ours(pid int) bool { return pid == os.Getpid() }

func nobody(int) bool { return false }

func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestAwaitOurs(t *testing.T) {
	for _, protocol := range []string{"tcp", "udp"} {
		for _, address := range []string{"127.0.0.1:0", ":0"} {
			port := listen(t, protocol, address)
			for _, pid := range []int{0, os.Getpid()} { // with and without a guess
				r := Request{Protocol: protocol, Port: port, Ours: ours, PID: pid}
				if err := Await(within(t, 30*time.Second), r); err != nil {
					t.Errorf("%s %s, guess %d: %v", protocol, address, pid, err)
				}
			}
		}
	}
}

func TestAwaitStranger(t *testing.T) {
	for _, protocol := range []string{"tcp", "udp"} {
		for address, atOnce := range map[string]bool{":0": true, "127.0.0.1:0": false} {
			port := listen(t, protocol, address)
			began := time.Now()
			err := Await(within(t, 30*time.Second), Request{Protocol: protocol, Port: port, Ours: nobody})
			var taken *host.PortTakenError
			if !errors.As(err, &taken) || taken.PID != os.Getpid() || taken.Program == "" || taken.Port != port ||
				taken.User != os.Getuid() {
				t.Errorf("%s %s: %+v (%v)", protocol, address, taken, err)
			}
			// A socket bound to one address may coexist with ours on the same port. Await tolerates it for a while.
			if took := time.Since(began); !atOnce && took < elsewhere {
				t.Errorf("%s %s: given up after %v", protocol, address, took)
			}
		}
	}
}

// A socket that another process has at another address does not matter once ours is there.
func TestAwaitBesideAnotherAddress(t *testing.T) {
	a, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	port := a.Addr().(*net.TCPAddr).Port
	r := Request{Protocol: "tcp", Port: port, Ours: ours}
	if err := Await(within(t, 30*time.Second), r); err != nil {
		t.Error(err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	port := listen(t, "tcp", "127.0.0.1:0")
	r := Request{Protocol: "udp", Port: port, Ours: ours} // nobody has it over UDP
	if err := Await(within(t, 20*time.Millisecond), r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the context", err)
	}
	for name, wrong := range map[string]Request{
		"protocol": {Protocol: "sctp", Port: 1}, "port": {Protocol: "tcp", Port: 70000},
	} {
		if err := Await(t.Context(), wrong); err == nil {
			t.Errorf("a wrong %s is accepted", name)
		}
	}
}

// The tables are read as Linux writes them: sockets in other states and on other ports are left out.
func TestReadTable(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1E61 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000
   1: 00000000:1E62 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4243 1 0000000000000000
   2: 0100007F:1E61 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4244 1 0000000000000000
   3: nonsense
`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tcp"), []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	for port, want := range map[int]socket{7777: {"0100007F", 1000, "4242"}, 7778: {"00000000", 0, "4243"}} {
		found, err := Request{Protocol: "tcp", Port: port, Net: folder}.sockets()
		if err != nil || len(found) != 1 || found[0] != want || found[0].unspecified() != (port == 7778) {
			t.Errorf("port %d: %+v, %v", port, found, err)
		}
	}
}

// The kernel's answer and the tables name the same sockets.
func TestListeners(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0", ":0"} {
		port := listen(t, "tcp", address)
		c, err := net.Dial("tcp", net.JoinHostPort("localhost", strconv.Itoa(port))) // a connection is not listed
		if err == nil {
			defer func() { _ = c.Close() }()
		}
		found, err := listeners(port)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Request{Protocol: "tcp", Port: port, Net: "/proc/self/net"}.sockets()
		if err != nil || len(want) != 1 || len(found) != 1 {
			t.Fatalf("%s: %+v, want %+v (%v)", address, found, want, err)
		}
		if found[0].inode != want[0].inode || found[0].user != want[0].user || len(found[0].local) != len(want[0].local) ||
			found[0].unspecified() != want[0].unspecified() {
			t.Errorf("%s: %+v, want %+v", address, found[0], want[0])
		}
	}
	if found, err := listeners(1); err != nil || len(found) != 0 {
		t.Errorf("a port without a server: %+v, %v", found, err)
	}
	if _, err := readDiag(make([]byte, 71)); err == nil {
		t.Error("a short answer is accepted")
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add("   0: 0100007F:1E61 00000000:0000 0A 0:0 00:0 0 1000 0 4242 1", 7777)
	f.Fuzz(func(t *testing.T, table string, port int) {
		for _, s := range readTable(table, stateListening, port) {
			if port < 0 || port > 65535 || s.inode == "" || !strings.Contains(table, stateListening) {
				t.Errorf("port %d: %+v", port, s)
			}
		}
	})
}

// BenchmarkLook compares the two ways to see who listens on a port.
func BenchmarkLook(b *testing.B) {
	for name, r := range map[string]Request{"asked": {}, "tables": {Net: "/proc/self/net"}} {
		r.Protocol, r.Port = "tcp", 1
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.sockets(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
