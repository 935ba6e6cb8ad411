package inside

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	declared "nearfar/internal/declare/inside"
	"nearfar/internal/onhost/capture"
)

// nodeWithPod makes a node with a pod, as an overlay like flannel's does: the pod's veth ends at its node's bridge,
// from which the node routes into VXLAN to the other node. i is the number of the node, 0 or 1. Its device eth0 is made
// by the caller.
func nodeWithPod(t *testing.T, i int) (node, pod *space) {
	t.Helper()
	pod, node = newSpace(t), newSpace(t)
	join(pod, "eth0", node, "pod")
	node.ip("link add cni0 type bridge")
	node.ip("link set pod master cni0")
	node.ip("link set cni0 up")
	node.ip(fmt.Sprintf("addr add 10.9.%d.1/24 dev cni0", i))
	pod.ip(fmt.Sprintf("addr add 10.9.%d.2/24 dev eth0", i))
	pod.ip(fmt.Sprintf("route add default via 10.9.%d.1", i))
	if err := node.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1"); err != nil {
		t.Fatal(err)
	}
	return node, pod
}

// intoVXLAN leads packets for the other node's pod into a tunnel over the node's eth0.
func (s *space) intoVXLAN(i int) {
	s.t.Helper()
	s.ip(fmt.Sprintf("addr add 10.1.0.%d/24 dev eth0", i+1))
	s.ip(fmt.Sprintf("link add flannel.1 type vxlan id 1 dstport 8472 local 10.1.0.%d remote 10.1.0.%d dev eth0",
		i+1, 2-i))
	s.ip(fmt.Sprintf("addr add 10.8.0.%d/24 dev flannel.1", i+1))
	s.ip("link set flannel.1 up")
	s.ip(fmt.Sprintf("route add 10.9.%d.0/24 via 10.8.0.%d", 1-i, 2-i))
}

// overlay makes two nodes, which are joined by a switch.
func overlay(t *testing.T) (pods, nodes [2]*space) {
	t.Helper()
	wire := newSpace(t)
	wire.ip("link add br0 type bridge")
	wire.ip("link set br0 up")
	for i := range nodes {
		nodes[i], pods[i] = nodeWithPod(t, i)
		port := fmt.Sprint("node", i)
		join(nodes[i], "eth0", wire, port)
		wire.ip("link set " + port + " master br0")
		nodes[i].intoVXLAN(i)
	}
	return pods, nodes
}

// overlayPath is the path of a request between pods of two nodes, to the server's socket.
const overlayPath = `request send client
request queue client eth0
request device client eth0
request softirq n1 pod
request bridge n1 pod
request forward n1 cni0
request queue n1 flannel.1
request encapsulate n1 flannel.1 VNI 1
request queue n1 eth0
request device n1 eth0
request softirq namespace 1 node0
request bridge namespace 1 node0
request queue namespace 1 node1
request device namespace 1 node1
request softirq n2 eth0
request decapsulate n2 eth0 VNI 1
request forward n2 flannel.1
request queue n2 cni0
request bridge n2 cni0
request queue n2 pod
request device n2 pod
request softirq server eth0
request deliver server
`

// A watcher that is in no namespace of the path sees all elements of an overlay, and names its nodes.
func TestOverlay(t *testing.T) {
	for _, protocol := range []string{"udp", "tcp"} {
		pods, nodes := overlay(t)
		x := serve(t, protocol, pods[0], pods[1], "10.9.1.2/24", nil)
		x.trips(100)
		o := x.options(500)
		o.Space, o.ClientNode, o.ServerNode = &pods[0].id, "n1", "n2"
		elsewhere := newSpace(t)
		w := elsewhere.watch(o)
		x.trips(500)
		p := path(t, end(t, w), 490)
		got := tunnelled(p)
		if !strings.HasPrefix(got, overlayPath) {
			t.Errorf("%s: the path is\n%s\nwant it to begin with\n%s", protocol, got, overlayPath)
		}
		reply := strings.NewReplacer("request", "reply", "client", "server", "server", "client", "n1", "n2", "n2", "n1",
			"node0", "node1", "node1", "node0").Replace(overlayPath)
		if !strings.Contains(got, reply) {
			t.Errorf("%s: the path is\n%s\nwant it to have\n%s", protocol, got, reply)
		}
		o.Side, o.Space, o.ClientNode = declared.Server, &nodes[1].id, ""
		w = elsewhere.watch(o)
		x.trips(501)
		_, ofServer, _ := strings.Cut(overlayPath, "namespace 1 node1\nrequest device namespace 1 node1\n")
		if got := tunnelled(path(t, end(t, w), 490)); !strings.HasPrefix(got, ofServer) {
			t.Errorf("%s: the server's path is\n%s\nwant it to begin with\n%s", protocol, got, ofServer)
		}
	}
}

// tunnelled writes a path's steps with the numbers of tunnels. It leaves out GRO and the backlog of a tunnel's device:
// a packet goes through one of them, by whether something else holds its buffer (TestTunnelWithHeldPackets).
func tunnelled(p declared.Path) string {
	var lines []string
	for i, line := range strings.Split(words(p), "\n") {
		if s := p.Steps[i]; s.DeviceKind != "vxlan" || s.Kind != declared.Softirq && s.Kind != declared.GRO {
			lines = append(lines, strings.TrimSpace(line+" "+s.Tunnel))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// mirrored answers a frame of VXLAN with the packet inside: it swaps all addresses and the inner ports, which changes
// no checksum.
func mirrored(frame []byte) []byte {
	const outer = 20 + 8 + 8 // IPv4, UDP, VXLAN
	if len(frame) < framed+outer+ethernet+28 || frame[framed+9] != capture.ProtoUDP {
		return nil
	}
	swap := func(at, length int) {
		for i := range length {
			frame[at+i], frame[at+length+i] = frame[at+length+i], frame[at+i]
		}
	}
	inner := framed + outer + ethernet
	if frame[inner] != 0x45 || frame[inner+9] != capture.ProtoUDP {
		return nil
	}
	swap(offloads, 6)
	swap(framed+12, 4)
	swap(inner-ethernet, 6)
	swap(inner+12, 4)
	swap(inner+20, 2)
	return frame
}

// A machine of the client alone sees the overlay on its node, and the way back up. Another machine is a program here
// that answers: the kernel has nothing of a server.
func TestOverlayOfAClient(t *testing.T) {
	node, pod := nodeWithPod(t, 0)
	far := newSpace(t)
	join(node, "eth0", far, "far")
	node.intoVXLAN(0)
	node.ip("neigh replace 10.1.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent")
	node.ip("neigh replace 10.8.0.2 lladdr 02:00:00:00:08:02 dev flannel.1 nud permanent")
	far.ip("link set far promisc on")
	var over atomic.Bool
	answering := far.forward("far", "far", mirrored, &over)
	t.Cleanup(func() { over.Store(true); <-answering })
	x := dial(t, pod, "10.9.1.2/24")
	x.trips(20)
	o := x.options(200)
	o.Side, o.Space, o.ClientNode = declared.Client, &pod.id, "n1"
	w := newSpace(t).watch(o)
	x.trips(200)
	const want = `request send client
request queue client eth0
request device client eth0
request softirq n1 pod
request bridge n1 pod
request forward n1 cni0
request queue n1 flannel.1
request encapsulate n1 flannel.1 VNI 1
request queue n1 eth0
request device n1 eth0
request softirq namespace 1 far
request wire namespace 1 far
reply softirq n1 eth0
reply decapsulate n1 eth0 VNI 1
reply forward n1 flannel.1
reply queue n1 cni0
reply bridge n1 cni0
reply queue n1 pod
reply device n1 pod
reply softirq client eth0
reply deliver client
reply wake client
reply run-queue client
reply read client
reply return client
`
	if got := tunnelled(path(t, end(t, w), 190)); got != want {
		t.Errorf("the client's path is\n%s\nwant\n%s", got, want)
	}
}

// dial makes the client of an exchange over UDP whose server is not of the test's kernel.
func dial(t *testing.T, client *space, at string) *exchange {
	t.Helper()
	x := &exchange{t: t, protocol: "udp", client: client, at: netip.MustParseAddr(address(at))}
	client.do(func() {
		var err error
		x.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		err = errors.Join(err, unix.Connect(x.fd, socketAddress(netip.AddrPortFrom(x.at, testPort))),
			unix.SetsockoptTimeval(x.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}))
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { _ = unix.Close(x.fd) })
	return x
}
