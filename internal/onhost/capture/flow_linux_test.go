package capture

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/packets"
)

// spaceForFlow moves the test's thread into a new network namespace with loopback alone, for the rest of the test, and
// gives the file of the namespace.
func spaceForFlow(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("an ordinary user makes no network namespace")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace can be made here: %v", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
}

// exchange sends datagrams to a server on loopback, and has each answered.
func exchange(t *testing.T, server, client *net.UDPConn, count int) {
	t.Helper()
	b := make([]byte, 400)
	for range count {
		if _, err := client.WriteToUDPAddrPort(b, server.LocalAddr().(*net.UDPAddr).AddrPort()); err != nil {
			t.Fatal(err)
		}
		n, from, err := server.ReadFromUDPAddrPort(b)
		if err == nil {
			_, err = server.WriteToUDPAddrPort(b[:n], from)
		}
		if err == nil {
			_, _, err = client.ReadFromUDPAddrPort(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func listen(t *testing.T) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestFlow captures real packets on loopback, each once: the first ones whole in order, as many as there is room for,
// and counts the others. Packets of another server are not there.
func TestFlow(t *testing.T) {
	space := spaceForFlow(t)
	server, other, client := listen(t), listen(t), listen(t)
	flow := Flow{
		Protocol: "udp", Servers: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
		Port: server.LocalAddr().(*net.UDPAddr).AddrPort().Port(),
	}
	for name, place := range map[string]packets.Place{
		"own": {Name: "own"}, "of a file": {Name: "of a file", File: space},
	} {
		for _, count := range []int{3, packets.MaxPackets/2 + 10} {
			before := time.Now().UnixNano()
			w, err := BeginFlow(flow, []packets.Place{place})
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, server, client, count)
			exchange(t, other, client, 2)
			points, err := w.End()
			if err != nil {
				t.Fatal(err)
			}
			after := time.Now().UnixNano()
			if len(points) != 1 || points[0].Name != name+".lo" {
				t.Fatalf("%s: %+v", name, points)
			}
			p, kept := points[0], min(2*count, packets.MaxPackets)
			if len(p.Kept) != kept || p.Passed != uint64(2*count) || p.Dropped != uint64(2*count-kept) {
				t.Fatalf("%s: %d of %d packets, %d dropped, of %d", name, len(p.Kept), p.Passed, p.Dropped, 2*count)
			}
			last := before
			for i, k := range p.Kept {
				layers, _ := Decode(k.Data)
				if len(layers) != 1 || layers[0].Protocol != ProtoUDP || k.Length != 428 || len(k.Data) != packets.Kept ||
					k.Time < last || k.Time > after || k.link.protocol != etherIPv4 {
					t.Fatalf("%s: packet %d is %+v", name, i, k)
				}
				last = k.Time
			}
		}
	}
}

func TestFlowOfAPlaceThatIsGone(t *testing.T) {
	flow := Flow{Protocol: "udp", Servers: []netip.Addr{server4}, Port: 7}
	_, err := BeginFlow(flow, []packets.Place{{Name: "router", File: "/proc/self/fd/9999"}})
	if err == nil || !strings.Contains(err.Error(), "the namespace of router") {
		t.Errorf("got %v", err)
	}
}

// TestFlowNeedsARight: without the right to capture, the error says which one is missing.
func TestFlowNeedsARight(t *testing.T) {
	const asked = "NEARFAR_TEST_CAPTURES_AS_NOBODY"
	if os.Getenv(asked) != "" {
		_, err := BeginFlow(Flow{Protocol: "udp", Servers: []netip.Addr{server4}, Port: 7},
			[]packets.Place{{Name: "here"}})
		fmt.Println("error:", err)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestFlowNeedsARight$")
	cmd.Env = append(os.Environ(), asked+"=1")
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "error: capturing packets needs root or CAP_NET_RAW") {
		t.Errorf("%v: %s", err, out)
	}
}
