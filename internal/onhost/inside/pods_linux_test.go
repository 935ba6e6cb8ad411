package inside

import (
	"fmt"
	"strings"
	"testing"

	declared "nearfar/internal/declare/inside"
)

// overlay makes two pods on two nodes, as an overlay like flannel's does: a pod's veth ends at its node's bridge, from
// which the node routes into VXLAN to the other node. The nodes are joined by a switch.
func overlay(t *testing.T) (pods, nodes [2]*space) {
	t.Helper()
	wire := newSpace(t)
	wire.ip("link add br0 type bridge")
	wire.ip("link set br0 up")
	for i := range nodes {
		pods[i], nodes[i] = newSpace(t), newSpace(t)
		node, port := nodes[i], fmt.Sprint("node", i)
		join(node, "eth0", wire, port)
		wire.ip("link set " + port + " master br0")
		node.ip(fmt.Sprintf("addr add 10.1.0.%d/24 dev eth0", i+1))
		join(pods[i], "eth0", node, "pod")
		node.ip("link add cni0 type bridge")
		node.ip("link set pod master cni0")
		node.ip("link set cni0 up")
		node.ip(fmt.Sprintf("addr add 10.9.%d.1/24 dev cni0", i))
		pods[i].ip(fmt.Sprintf("addr add 10.9.%d.2/24 dev eth0", i))
		pods[i].ip(fmt.Sprintf("route add default via 10.9.%d.1", i))
		node.ip(fmt.Sprintf("link add flannel.1 type vxlan id 1 dstport 8472 local 10.1.0.%d remote 10.1.0.%d dev eth0",
			i+1, 2-i))
		node.ip(fmt.Sprintf("addr add 10.8.0.%d/24 dev flannel.1", i+1))
		node.ip("link set flannel.1 up")
		node.ip(fmt.Sprintf("route add 10.9.%d.0/24 via 10.8.0.%d", 1-i, 2-i))
		if err := node.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=1"); err != nil {
			t.Fatal(err)
		}
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

// tunnelled writes a path's steps with the numbers of tunnels. It leaves out the backlog of a tunnel's device, in which
// kernels without GRO for that tunnel put packets.
func tunnelled(p declared.Path) string {
	var lines []string
	for i, line := range strings.Split(words(p), "\n") {
		if s := p.Steps[i]; s.Kind != declared.Softirq || s.DeviceKind != "vxlan" {
			lines = append(lines, strings.TrimSpace(line+" "+s.Tunnel))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
