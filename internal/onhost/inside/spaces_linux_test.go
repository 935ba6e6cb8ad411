package inside

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A space is a network namespace of the test.
type space struct {
	t    testing.TB
	file *os.File
	id   uint32
}

// newSpace makes a namespace that lasts as long as the test.
func newSpace(t testing.TB) *space {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test makes network namespaces: run it as root")
	}
	s := &space{t: t}
	s.onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		var err error
		if s.file, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			return err
		}
		s.id, err = OwnNamespace()
		return err
	})
	t.Cleanup(func() { _ = s.file.Close() })
	s.ip("link set lo up")
	return s
}

// onThread runs f on a thread of its own, which ends with it.
func (s *space) onThread(f func() error) {
	s.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- f()
	}()
	if err := <-done; err != nil {
		s.t.Fatal(err)
	}
}

// do runs f in the namespace.
func (s *space) do(f func()) {
	s.onThread(func() error {
		if err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		f()
		return nil
	})
}

// ip runs ip(8) with these arguments.
func (s *space) ip(args string) {
	s.t.Helper()
	if err := s.try(args); err != nil {
		s.t.Fatal(err)
	}
}

// try runs ip(8), and gives its error.
func (s *space) try(args string) error { return s.run("ip", strings.Fields(args)...) }

func (s *space) run(program string, args ...string) (err error) {
	s.do(func() {
		var output []byte
		if output, err = exec.Command(program, args...).CombinedOutput(); err != nil {
			err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, output)
		}
	})
	return err
}

// join makes a veth pair between two namespaces.
func join(a *space, device string, b *space, peer string) {
	a.t.Helper()
	a.do(func() {
		err := netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: device}, PeerName: peer, PeerNamespace: netlink.NsFd(b.file.Fd()),
		})
		if err != nil {
			a.t.Errorf("%s: %v", peer, err)
		}
	})
	a.ip("link set " + device + " up")
	b.ip("link set " + peer + " up")
}

// bridged makes a client and a server with these addresses behind a bridge.
func bridged(t testing.TB, clientAt, serverAt string) (client, bridge, server *space) {
	t.Helper()
	client, bridge, server = newSpace(t), newSpace(t), newSpace(t)
	join(client, "eth0", bridge, "b0")
	join(server, "eth0", bridge, "b1")
	bridge.ip("link add br0 type bridge")
	for _, port := range []string{"b0", "b1"} {
		bridge.ip("link set " + port + " master br0")
	}
	bridge.ip("link set br0 up")
	for s, at := range map[*space]string{client: clientAt, server: serverAt} {
		if strings.Contains(at, ":") {
			at += " nodad" // usable at once
		}
		s.ip("addr add dev eth0 " + at)
	}
	return client, bridge, server
}
